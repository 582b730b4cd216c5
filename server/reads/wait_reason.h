#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/engine/job_view.h"

namespace winnow {

// What a running job of whose trials none runs waits for, in a sentence; "": nothing. Inside Store::Read.
absl::StatusOr<std::string> WaitReason(Store& store, const JobView& job);

}  // namespace winnow
