#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/task_threads.h"
#include "server/sagemaker/jobs/job_starter.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/jobs/winnow_calls.h"
#include "server/sagemaker/s3/object_store.h"

namespace winnow {

// SagemakerJob::result is a JSON object of
//   reason      why it failed, or was stopped
//   tuned       of a tuning job's training job: its tuned hyperparameters as strings
//   metrics     final values: [{"MetricName", "Value", "Timestamp"}]
//   seconds     that it trained
//   definition  of a tuning job's training job: the index of its definition, if there are several
//   best        of a tuning job: the name of its best training job

// The name of a tuning job's training job: "JOB-007-0a1b2c3d". worker/winnow_sagemaker.py makes it too.
std::string TrainingJobName(const SagemakerJob& tuning_job, int64_t number);

// The bucket and key of a training job's model.tar.gz.
std::string ModelUri(const std::string& output_path, const std::string& training_job);

// Brings what Winnow did into the table, as SageMaker's clients see it, and puts the models of jobs that have
// ended into their buckets before it says that they are completed: a training job's, and a tuning job's best.
// Of tuning jobs with several definitions it starts the jobs that have to wait for others. It finishes
// creations that the end of a server cut off, or whose outcome is not known. A thread of its own looks at
// unfinished jobs; another one archives models, one after the other. Every hour it also removes uploads to
// buckets that nobody has completed.
class Follower {
 public:
  // `caller_of`: on whose behalf a row's job is looked at. The arguments outlive it.
  Follower(SagemakerJobs& table, ObjectStore& objects, WinnowCalls& calls, JobStarter& starter,
           std::function<CallerOf(const SagemakerJob&)> caller_of);
  ~Follower();

  // Puts the model of a training job of a tuning job to `uri`, unless it is there. Waits some seconds for one
  // that its worker still has. May be called from any thread.
  void OfferModel(const CallerOf& caller, const SagemakerJob& row, const std::string& uri);
  // Looks at once.
  void Wake();
  // Begins to stop: what is under way ends soon, and nothing new begins. The destructor waits for the end.
  void AnnounceStop();

 private:
  // What was written of a job, so that only changes are.
  struct Seen {
    int64_t sequence = -1;
    std::map<int64_t, std::string> trials;
  };
  // A job that could not be followed when it was last looked at.
  struct Failure {
    std::chrono::milliseconds wait{0};
    std::chrono::steady_clock::time_point next;
    std::string logged;  // "": nothing yet
  };

  void Run();
  bool stopping();
  // `all`: also jobs that could not be followed just now. False: nothing is unfinished.
  bool LookOnce(bool all);
  // When to look at a job again that could not be followed.
  static Failure After(Failure before, const SagemakerJob& row, const absl::Status& status);
  absl::Status Follow(SagemakerJob row);
  // Creates the jobs of a row that has none, unless its Create is under way: the same ones, if Winnow has
  // them already. What is refused now has failed, because its client was told that it is created.
  absl::Status FinishCreation(SagemakerJob row, const CallerOf& caller);
  absl::Status FollowTraining(const CallerOf& caller, SagemakerJob row);
  absl::Status FollowTuning(const CallerOf& caller, SagemakerJob row);
  // The jobs of a row, also one that has been deleted or could not be started, as failed.
  absl::StatusOr<std::vector<v1::TuningJob>> JobsOf(const CallerOf& caller, const SagemakerJob& row);
  // Adds the training jobs of a tuning job's job that have changed.
  absl::Status AddChanged(const CallerOf& caller, const SagemakerJob& row, const v1::TuningJob& job,
                          size_t definition, size_t definitions, std::vector<SagemakerJob>& changed,
                          Seen& seen);
  // Ends the jobs of a tuning job that is to end, or starts the next ones. True: no more is to be started.
  absl::StatusOr<bool> StartMore(const CallerOf& caller, const nlohmann::json& request, SagemakerJob& row,
                                 std::vector<v1::TuningJob>& jobs);
  // Fills in what a trial says.
  absl::Status Fill(const CallerOf& caller, const v1::Trial& trial, SagemakerJob& row);
  // PutModel on the archiver, and what came of it. UNAVAILABLE: it is under way. `followed`: the row that
  // waits for it.
  absl::Status AwaitModel(const CallerOf& caller, const v1::TuningJob& job, const SagemakerJob& row,
                          const std::string& uri, const SagemakerJob& followed);
  // ModelComes: it is on its way. OK too if there is none, or none that can be archived, or there is
  // no such bucket.
  absl::Status PutModel(const CallerOf& caller, const v1::TuningJob& job, const SagemakerJob& row,
                        const std::string& uri);

  SagemakerJobs& table_;
  ObjectStore& objects_;
  WinnowCalls& calls_;
  JobStarter& starter_;
  const std::function<CallerOf(const SagemakerJob&)> caller_of_;
  std::map<std::string, Seen> seen_;         // of the thread; by the id of a job of Winnow
  std::map<std::string, Failure> failures_;  // likewise; by ARN
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = true;
  bool archived_ ABSL_GUARDED_BY(mutex_) = false;
  // What came of models that were archived, by the `winnow_job` of the row that waits; absent: nothing yet.
  std::map<std::string, std::optional<absl::Status>> archives_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
  TaskThreads archiver_;
};

}  // namespace winnow
