#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/space/types.h"
#include "winnow/v1/tuning.pb.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// What a trial's processes need, as far as it does not depend on rank, attempt or worker
// (docs/trainer-contract.md).
struct Launch {
  std::vector<std::string> command;  // a built-in trainer: the name of its program, beside the worker's
  std::map<std::string, std::string> environment;
  std::vector<v1::MetricDefinition> metrics;
  std::string resource_regex;
  int64_t resource_offset = 0;
  bool resumes = true;
  int64_t grace_period_ms = 0;
  std::string working_directory;  // absolute
  v1::TrainerSpec::Warm warm =
      v1::TrainerSpec::WARM_UNSPECIFIED;  // the job's; by default FORK for built-in trainers
  // Those that the worker prepares, with absolute paths or URLs; they have no SM_CHANNEL_* here.
  std::vector<v1::ChannelToPrepare> channels;
};

// The launch of a trial with this configuration. A conditional hyperparameter that does not exist in
// `configuration` gets no variable and no argument: the argument with its placeholder is left out, and so is
// the flag before it ("--depth", "{{depth}}"). The hyperparameter of cluster.nodes_parameter is passed by its
// placeholder only. `repeat`: the number of the repeat, from 1; 0: the job has no repeats. REQUIRES:
// CheckSpec found nothing, the trainer is not external, and `configuration` belongs to spec.parameters.
Launch MakeLaunch(const v1::TuningJobSpec& spec, const Configuration& configuration, uint64_t seed,
                  int64_t repeat = 0);

// The environment variable of a hyperparameter: "SM_HP_" and its name in upper case, where anything but
// letters and digits becomes '_'.
std::string HyperparameterVariable(const std::string& name);

}  // namespace winnow
