#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/sagemaker/jobs/job_spec.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/jobs/training_image.h"
#include "server/sagemaker/jobs/winnow_calls.h"
#include "server/sagemaker/s3/object_store.h"

namespace winnow {

// The error of an operation on a tuning job that is not there.
absl::Status NoTuningJob(const std::string& name);

// Creates the jobs of Winnow of training jobs and tuning jobs: one, or one for each definition of training
// jobs. The errors are AwsError. Thread-safe.
class JobStarter {
 public:
  // `s3_endpoint`: of this server, as workers reach it; "": not known yet. The arguments outlive it.
  JobStarter(SagemakerJobs& table, ObjectStore& objects, WinnowCalls& calls, TrainingImages images,
             std::function<std::string()> s3_endpoint)
      : table_(table),
        objects_(objects),
        calls_(calls),
        images_(std::move(images)),
        s3_endpoint_(std::move(s3_endpoint)) {}

  // Takes the creation of a row's jobs, until EndCreation; false: somebody else has it.
  bool BeginCreation(const SagemakerJob& row);
  void EndCreation(const SagemakerJob& row);
  // Checks the request of a row and creates its jobs, as many as may run at a time. Returns their ids, as
  // SagemakerJob::winnow_job has them. The same ids, if Winnow has the jobs already; so it may be called
  // again where OutcomeIsUnknown.
  absl::StatusOr<std::string> Start(const SagemakerJob& row, const CallerOf& caller);
  // Creates the job of the next definition of a tuning job, and returns its id. Unless MayPass(), it
  // cannot be created.
  absl::StatusOr<std::string> StartNext(const SagemakerJob& row, const CallerOf& caller);

 private:
  absl::StatusOr<std::vector<JobPlan>> PlansOf(const SagemakerJob& row, const nlohmann::json& request);
  absl::StatusOr<std::string> Create(const SagemakerJob& row, const JobPlan& plan, size_t index,
                                     const CallerOf& caller);

  SagemakerJobs& table_;
  ObjectStore& objects_;
  WinnowCalls& calls_;
  const TrainingImages images_;
  const std::function<std::string()> s3_endpoint_;
  Mutex mutex_;
  std::set<std::string> creating_ ABSL_GUARDED_BY(mutex_);  // ARNs
};

// The error of Winnow about a request that was translated.
absl::Status OfWinnow(const absl::Status& status);

}  // namespace winnow
