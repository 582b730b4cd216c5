#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/status.h"
#include "server/sagemaker/jobs/job_spec.h"

namespace winnow {

// The errors of these are ValidationException.

// Adds the parameters of ParameterRanges. `combinations`: how many there are; infinite with a continuous
// range.
absl::Status AddRanges(const nlohmann::json& ranges, v1::TuningJobSpec& spec, double& combinations);

// Adds the strategy, early stopping and the criteria of completion of a HyperParameterTuningJobConfig.
absl::Status AddSearch(const nlohmann::json& config, v1::TuningJobSpec& spec);

// Adds what the jobs of a tuning job's definitions share: each may have an equal part of
// MaxNumberOfTrainingJobs, unless its ranges have fewer combinations, and of MaxParallelTrainingJobs.
absl::Status AddLimits(const nlohmann::json& config, const std::vector<double>& combinations,
                       int64_t elapsed_seconds, std::vector<JobPlan>& plans);

// How many of the definitions' jobs run at a time.
size_t JobsAtATime(const nlohmann::json& config, size_t definitions);

}  // namespace winnow
