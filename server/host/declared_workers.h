#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/placement.h"

namespace winnow {

// Workers that come and go, as an operator declares them, so that jobs may ask for what is not there now:
// "8 x slots=4,cpus=16,memory_gib=64,label=gpu,label=zone=a". The number and " x " may be left out: 1. Slots
// default to 1; processors and memory to any number. INVALID_ARGUMENT names what is wrong and what was
// expected.
absl::StatusOr<std::vector<WorkerRoom>> ReadDeclaredWorkers(const std::string& text);

}  // namespace winnow
