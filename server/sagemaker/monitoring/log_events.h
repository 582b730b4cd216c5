#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/jobs/winnow_calls.h"

namespace winnow {

// DescribeLogStreams and GetLogEvents of CloudWatch Logs over the output of training jobs: a stream for each
// instance, "JOB/algo-2", with what each attempt wrote on its standard output and its standard error, in the
// order in which the server received the ends of lines. That is a line's time; what an older version of the
// server received has the time of the training's start. Thread-safe.
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

    std::string Token() const;
  };
  struct Lines;
  struct Merged;
  // What is asked for of a stream.
  struct Page {
    LogRequest wanted;     // of which instance
    int64_t newest = 1;    // attempt
    int64_t start_ms = 0;  // of the training
    double from_ms = 0, until_ms = 0;
    size_t most = 0;
  };

  absl::StatusOr<nlohmann::json> Streams(const nlohmann::json& request, const std::string& account,
                                         const CallerOf& caller);
  absl::StatusOr<nlohmann::json> Events(const nlohmann::json& request, const std::string& account,
                                        const CallerOf& caller);
  // The whole lines of one attempt's standard output or error from wanted.offset on. `start_ms`: the
  // training's.
  absl::StatusOr<Lines> ReadLines(const CallerOf& caller, const LogRequest& wanted, int64_t start_ms);
  // The lines of both streams from a place on, up to the end of its attempt.
  absl::StatusOr<Merged> ReadAttempt(const CallerOf& caller, const Page& page, const Place& place);
  // Moves `place` over the events that it returns.
  absl::StatusOr<nlohmann::json> EventsAfter(const CallerOf& caller, const Page& page, Place& place);
  // The last events before `last`, which becomes the place behind them; `first`: the one before them.
  absl::StatusOr<nlohmann::json> EventsBefore(const CallerOf& caller, const Page& page, Place& first,
                                              Place& last);
  // When the server received the first and the last output of an instance, in milliseconds.
  absl::StatusOr<std::pair<int64_t, int64_t>> TimesOf(const CallerOf& caller, LogRequest wanted,
                                                      int64_t start_ms);

  SagemakerJobs& jobs_;
  WinnowCalls& calls_;
};

}  // namespace winnow
