#pragma once

#include <string_view>

namespace winnow {

// The beginning of the reason of a StopRequested that the server records by itself, because the setup of the
// job's source fails wherever it is tried: the job then ends as failed and not as stopped. No reason of a
// user's request begins like this (Requester::StopReason).
inline constexpr std::string_view kSetupFailed = "The setup of the job's source failed";

}  // namespace winnow
