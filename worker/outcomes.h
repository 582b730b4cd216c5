#pragma once

#include <string>

#include "absl/status/status.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// Returns an outcome with the current time for a failure before the start, caused by the trainer.
v1::Outcome FailedOutcome(std::string reason);
// FailedOutcome for a failure without the trainer's fault. UNAVAILABLE: something from the server or the
// network is missing, no fault of this machine; any other error is the machine's own.
v1::Outcome NotStartedOutcome(const absl::Status& status);

}  // namespace winnow
