#pragma once

#include <string>

#include "winnow/v1/worker.pb.h"

namespace winnow {

// An outcome of now, for what failed before it started.
v1::Outcome FailedOutcome(std::string reason);

}  // namespace winnow
