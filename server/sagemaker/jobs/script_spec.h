#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/sagemaker/jobs/job_spec.h"
#include "server/sagemaker/jobs/script_code.h"
#include "server/sagemaker/jobs/training_image.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The metric that worker/winnow_sagemaker.py adds: a training job that defines no metrics has an objective
// too.
inline constexpr char kOwnMetric[] = "training:seconds";

// A training job, or the training jobs of a tuning job, that run a script or a container's program.
struct ScriptRequest {
  std::string job;
  bool tuning = false;
  const nlohmann::json& definition;
  const nlohmann::json& hyperparameters;  // static ones
  TrainingImage image;
  int64_t nodes = 1;
  int64_t index = 0, count = 1;  // of the definition among those of the tuning job, and their number
};

// Adds the trainer: worker/winnow_sagemaker.py with its plan, and the metrics. Returns the code that
// sagemaker_submit_directory names; none without a script. ValidationException: the code is not in the
// account's buckets, or lacks the script.
absl::StatusOr<std::optional<ScriptCode>> AddScript(const ScriptRequest& request, const SpecContext& context,
                                                    v1::TuningJobSpec& spec);

}  // namespace winnow
