#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/placement.h"

namespace winnow {

// Parses an operator's declaration of workers that come and go, so that jobs may ask for absent resources: "8
// x slots=4,cpus=16,memory_gib=64,label=gpu,label=zone=a,gpus=2". The number and " x " are optional: 1. Slots
// default to 1; processors and memory to any number, GPUs to none. INVALID_ARGUMENT names the error and what
// was expected.
absl::StatusOr<std::vector<WorkerRoom>> ReadDeclaredWorkers(const std::string& text);

}  // namespace winnow
