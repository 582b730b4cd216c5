#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/space/types.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What a trial's process needs that does not depend on rank, attempt or worker (docs/trainer-contract.md).
struct Launch {
  std::vector<std::string>
      command;  // of a built-in: its program's bare name, to be found beside the worker's
  std::map<std::string, std::string> environment;
  std::vector<v1::MetricDefinition> metrics;
  std::string resource_regex;
  int64_t resource_offset = 0;
  bool resumes = true;
  int64_t grace_period_ms = 0;
  std::string working_directory;  // absolute
};

// A conditional hyperparameter that does not exist in `configuration` is in no variable and no argument; the
// argument that holds its placeholder is left out, and so is a flag before it whose value it is ("--depth",
// "{{depth}}"). The one that cluster.nodes_parameter names is given by its placeholder only. REQUIRES
// CheckSpec found nothing, the trainer is not external, and `configuration` belongs to spec.parameters.
Launch MakeLaunch(const v1::TuningJobSpec& spec, const Configuration& configuration, uint64_t trial_seed);

}  // namespace winnow
