#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/jobs/winnow_calls.h"

namespace winnow {

// DescribeLogStreams and GetLogEvents of CloudWatch Logs over the output of training jobs: a stream for each
// instance, "JOB/algo-2", with what each attempt wrote on its standard output and then on its standard error.
// A line's time is that of the training's start. Thread-safe.
class LogEvents {
 public:
  LogEvents(SagemakerJobs& jobs, WinnowCalls& calls) : jobs_(jobs), calls_(calls) {}

  // The errors are AwsError.
  absl::StatusOr<nlohmann::json> Call(const std::string& operation, const nlohmann::json& request,
                                      const std::string& account, const CallerOf& caller);

 private:
  // How far a stream has been read; written as a token.
  struct Place {
    int64_t attempt = 1;
    int64_t out = 0, err = 0;  // bytes
  };
  struct Lines;

  absl::StatusOr<nlohmann::json> Streams(const nlohmann::json& request, const std::string& account,
                                         const CallerOf& caller);
  absl::StatusOr<nlohmann::json> Events(const nlohmann::json& request, const std::string& account,
                                        const CallerOf& caller);
  // Adds the lines of one attempt's output from `offset` on, which moves behind them. True: it has ended, and
  // all of it is there.
  absl::StatusOr<bool> Take(const CallerOf& caller, const LogRequest& wanted, int64_t& offset, Lines& lines);

  SagemakerJobs& jobs_;
  WinnowCalls& calls_;
};

}  // namespace winnow
