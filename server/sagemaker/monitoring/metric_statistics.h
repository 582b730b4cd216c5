#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/jobs/winnow_calls.h"

namespace winnow {

// GetMetricStatistics, GetMetricData and ListMetrics of CloudWatch over the metrics that training jobs have
// reported: those of the namespace /aws/sagemaker/TrainingJobs with the dimension TrainingJobName.
// Thread-safe.
class MetricStatistics {
 public:
  MetricStatistics(SagemakerJobs& jobs, WinnowCalls& calls) : jobs_(jobs), calls_(calls) {}

  // The errors are AwsError.
  absl::StatusOr<nlohmann::json> Call(const std::string& operation, const nlohmann::json& request,
                                      const std::string& account, const CallerOf& caller);

 private:
  // The values of a metric in one period.
  struct Summed {
    double sum = 0, least = 0, most = 0;
    int64_t count = 0;
  };
  // By the period's start, in seconds.
  using Series = std::map<int64_t, Summed>;
  // What to sum: of a query, or of a request that has the same members.
  struct Wanted {
    std::string job, metric;
    int64_t period = 60;
    double begin = 0, end = 0;
  };

  absl::StatusOr<nlohmann::json> Statistics(const nlohmann::json& request, const std::string& account,
                                            const CallerOf& caller);
  absl::StatusOr<nlohmann::json> Data(const nlohmann::json& request, const std::string& account,
                                      const CallerOf& caller);
  absl::StatusOr<nlohmann::json> Names(const nlohmann::json& request, const std::string& account,
                                       const CallerOf& caller);
  // A value of a metric, and when it was reported: in whole seconds, and all of it.
  struct Value {
    int64_t seconds = 0;
    double time = 0;
    double value = 0;
  };
  using Values = std::vector<Value>;

  // `metric`: only its values; "": all. Empty too if there is no such job.
  absl::StatusOr<std::vector<v1::MetricPoint>> PointsOf(const std::string& job, const std::string& metric,
                                                        const std::string& account, const CallerOf& caller);
  absl::StatusOr<Values> ValuesOf(const Wanted& wanted, const std::string& account, const CallerOf& caller);
  static Series Sum(const Wanted& wanted, const Values& values);

  static absl::StatusOr<double> StatisticOf(const Summed& summed, const std::string& name);
  static absl::StatusOr<Wanted> ReadMetric(const nlohmann::json& metric, double period,
                                           const nlohmann::json& times);

  SagemakerJobs& jobs_;
  WinnowCalls& calls_;
};

}  // namespace winnow
