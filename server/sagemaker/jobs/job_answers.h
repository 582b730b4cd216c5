#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/sagemaker/jobs/job_table.h"

namespace winnow {

// The answers about jobs, with the members that SageMaker's clients read.

// `request`: that of the job, or of its tuning job. `parent`: its tuning job; null: none.
nlohmann::json DescribeTraining(const SagemakerJob& row, const nlohmann::json& request,
                                const SagemakerJob* parent);
nlohmann::json SummaryOfTraining(const SagemakerJob& row);

// `children`: of its training jobs. `best`: the best training job, if there is one.
nlohmann::json DescribeTuning(const SagemakerJob& row, const nlohmann::json& request,
                              const StatusCounts& children, const std::optional<SagemakerJob>& best);
nlohmann::json SummaryOfTuning(const SagemakerJob& row, const nlohmann::json& request,
                               const StatusCounts& children);
// A training job among those of its tuning job.
nlohmann::json SummaryOfChild(const SagemakerJob& row, const nlohmann::json& tuning_request);

// Seconds, as a number with a fraction.
double SecondsOf(int64_t us);

}  // namespace winnow
