#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {

// The results of a finished job: configuration, final state and learning curve of the objective for each
// trial.
struct JobRecord {
  struct TrialRecord {
    std::string configuration;  // the hyperparameters as text, to compare
    std::string state;
    std::map<int64_t, double> curve;
    bool operator==(const TrialRecord&) const = default;
  };
  std::map<int64_t, TrialRecord> trials;
  int64_t best_trial = 0;
  double best_objective = 0;
  // Levels that a trial reported more than once; empty in a healthy job.
  std::vector<std::string> duplicates;
};

// Calls on a job, each with a deadline; a call that fails throws std::runtime_error (a test reports it).
class JobClient {
 public:
  explicit JobClient(std::unique_ptr<v1::TuningService::Stub> stub) : stub_(std::move(stub)) {}

  // Returns the new job's id.
  std::string Create(const v1::TuningJobSpec& spec);
  v1::TuningJob Describe(const std::string& id);
  // Follows the job to its end, calling on_event once for each event, across restarts of the server.
  v1::TuningJob WatchToEnd(const std::string& id,
                           const std::function<void(const v1::TuningJobEvent&)>& on_event);
  JobRecord Record(const std::string& id, const std::string& metric);

 private:
  std::unique_ptr<v1::TuningService::Stub> stub_;
};

// Parses a job file's text. REQUIRES: it is valid.
v1::TuningJobSpec SpecFromJson(const std::string& json);

// Writes a table of `rows` x 12 numbers with a learnable binary label "y" (first column, with a header).
void WriteClassificationTable(const std::string& path, int rows, uint64_t seed);

}  // namespace winnow
