#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/engine/job_view.h"

namespace winnow {

// Says what a running job without running trials waits for, a sentence; "": nothing. Inside Store::Read.
absl::StatusOr<std::string> WaitReason(Store& store, const JobView& job);

}  // namespace winnow
