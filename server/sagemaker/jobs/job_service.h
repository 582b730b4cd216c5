#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/sagemaker/jobs/follower.h"
#include "server/sagemaker/jobs/job_starter.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/jobs/winnow_calls.h"

namespace winnow {

// Who calls an operation.
struct JobCaller {
  std::string account;
  std::string region;
  std::string key_id;
  CallerOf winnow;
};

// The operations of SageMaker on tuning jobs, training jobs and tags. Thread-safe.
class JobService {
 public:
  // The arguments outlive it.
  JobService(SagemakerJobs& table, WinnowCalls& calls, JobStarter& starter, Follower& follower)
      : table_(table), calls_(calls), starter_(starter), follower_(follower) {}

  // The answer of an operation, such as "CreateTrainingJob"; null for an empty body. The errors are AwsError.
  absl::StatusOr<nlohmann::json> Call(const std::string& operation, const nlohmann::json& request,
                                      const JobCaller& caller);

 private:
  using Answer = absl::StatusOr<nlohmann::json>;
  Answer CreateTuning(const nlohmann::json& request, const JobCaller& caller);
  Answer CreateTraining(const nlohmann::json& request, const JobCaller& caller);
  Answer Create(SagemakerJob row, const nlohmann::json& request, const JobCaller& caller);
  // Starts the jobs of a row that is in the table; removes the row if that fails. OK too if its outcome is
  // not known: the follower creates them.
  absl::Status Start(SagemakerJob row, const CallerOf& caller);
  Answer Describe(SagemakerJob::Kind kind, const std::string& name, const JobCaller& caller);
  Answer DescribeTrainingJob(const SagemakerJob& row, const JobCaller& caller);
  // The best training job of a tuning job that has a value; absent: there is none yet.
  absl::StatusOr<std::optional<SagemakerJob>> BestOf(const SagemakerJob& tuning);
  // Where the data and the algorithm are those of the parents: the best training job of it and of them.
  absl::Status AddOverallBest(const nlohmann::json& request, const JobCaller& caller, nlohmann::json& answer);
  Answer List(SagemakerJob::Kind kind, const nlohmann::json& request, const JobCaller& caller);
  Answer ListChildren(const nlohmann::json& request, const JobCaller& caller);
  Answer Stop(SagemakerJob::Kind kind, const std::string& name, const JobCaller& caller);
  Answer Delete(SagemakerJob::Kind kind, const std::string& name, const JobCaller& caller);
  Answer Tags(const std::string& operation, const nlohmann::json& request, const JobCaller& caller);

  // The job, or the error of its kind that there is none.
  absl::StatusOr<SagemakerJob> Find(SagemakerJob::Kind kind, const std::string& name,
                                    const JobCaller& caller);

  SagemakerJobs& table_;
  WinnowCalls& calls_;
  JobStarter& starter_;
  Follower& follower_;
};

}  // namespace winnow
