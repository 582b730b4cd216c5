#pragma once

#include <string>

#include "absl/status/status.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// An outcome of now, for what failed before it started, by its trainer's fault.
v1::Outcome FailedOutcome(std::string reason);
// The same by no fault of the trainer's: UNAVAILABLE says that what the server or the network owes was not to be had,
// which tells nothing against this machine; any other error is the machine's own.
v1::Outcome NotStartedOutcome(const absl::Status& status);

}  // namespace winnow
