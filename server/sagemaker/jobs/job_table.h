#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "store/database/database.h"

namespace winnow {

// A training job or a tuning job as SageMaker's clients see it. Its job of Winnow is what runs.
struct SagemakerJob {
  enum Kind { kTraining = 0, kTuning = 1 };

  std::string account;
  Kind kind = kTraining;
  std::string name;
  // The name of the tuning job of a training job, with a slash after it if that was deleted and its name
  // given to another one; else "".
  std::string parent;
  // The trial of such a job. A tuning job whose name a deleted one with training jobs had has created_us
  // here, so that its training jobs have other names. Else 0.
  int64_t trial = 0;
  std::string region;
  std::string key_id;   // that created it
  std::string request;  // the JSON of its Create; "" with a parent
  // Its id; of a tuning job with several definitions of training jobs those of the jobs that have begun, in
  // the order of the definitions, with blanks between. "": until Winnow has accepted the job.
  std::string winnow_job;
  std::string status;                                                     // "InProgress", "Completed" …
  std::string secondary;                                                  // of a training job: "Training" …
  int64_t created_us = 0, started_us = 0, ended_us = 0, modified_us = 0;  // 0: not yet
  std::optional<double> objective;                                        // the final one of a training job
  std::string result;  // JSON: see JobResult in follower.h; "" until there is something to say

  std::vector<std::string> winnow_jobs() const;
  bool ended() const { return status != "InProgress" && status != "Stopping"; }
};

// Names the job for its tags, and in answers.
std::string ArnOf(const SagemakerJob& row);

// Which jobs to list.
struct JobQuery {
  std::string account;
  SagemakerJob::Kind kind = SagemakerJob::kTraining;
  std::optional<std::string> parent;  // only its training jobs
  std::string name_contains, status;  // "": all
  int64_t created_after_us = 0, created_before_us = INT64_MAX;
  int64_t modified_after_us = 0, modified_before_us = INT64_MAX;
  enum Sort { kName, kCreated, kStatus, kObjective } sort = kCreated;
  bool descending = false;
  // Only what comes after a job: what it is sorted by, and its name.
  struct Place {
    ColumnValue value;
    std::string name;
  };
  std::optional<Place> after;
  int64_t most = 10;
};

// How many training jobs of a tuning job have each status; and with "+objective" those that have a value.
using StatusCounts = std::map<std::string, int64_t>;

// The jobs of the endpoint, their original requests and tags, in a database of their own. Thread-safe.
class SagemakerJobs {
 public:
  static absl::StatusOr<std::unique_ptr<SagemakerJobs>> Open(const std::filesystem::path& file);

  // ALREADY_EXISTS: the account has such a job of that name, in any case of its letters. Sets the `trial` of
  // a tuning job.
  absl::Status Insert(SagemakerJob& row, const std::map<std::string, std::string>& tags,
                      const std::string& arn);
  absl::StatusOr<std::optional<SagemakerJob>> Find(const std::string& account, SagemakerJob::Kind kind,
                                                   const std::string& name);
  // Writes what changes over the life of a job; inserts training jobs of tuning jobs, with the tags that
  // those have. A job that has ended stays as it is, and one that is stopping does not go on.
  absl::Status Write(const std::vector<SagemakerJob>& rows);
  // The job is stopping, unless it has ended meanwhile.
  absl::Status MarkStopping(const SagemakerJob& row, int64_t now_us);
  absl::Status Delete(const SagemakerJob& row, const std::string& arn);
  // The jobs without a parent that have not ended.
  absl::StatusOr<std::vector<SagemakerJob>> Unfinished();
  absl::StatusOr<std::vector<SagemakerJob>> List(const JobQuery& query);
  // The counts of each of these tuning jobs that has training jobs.
  absl::StatusOr<std::map<std::string, StatusCounts>> CountChildren(const std::string& account,
                                                                    const std::vector<std::string>& parents);

  absl::StatusOr<std::map<std::string, std::string>> Tags(const std::string& account, const std::string& arn);
  absl::Status SetTags(const std::string& account, const std::string& arn,
                       const std::map<std::string, std::string>& tags);
  absl::Status RemoveTags(const std::string& account, const std::string& arn,
                          const std::vector<std::string>& keys);

  // The credentials that a job's processes have: for its account's objects only, until the job has ended.
  absl::Status AddJobKey(const std::string& id, const std::string& secret, const SagemakerJob& row);
  struct JobKey {
    std::string secret, account;
  };
  absl::StatusOr<std::optional<JobKey>> FindJobKey(const std::string& id);

 private:
  explicit SagemakerJobs(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  absl::Status SetTagsLocked(const std::string& account, const std::string& arn,
                             const std::map<std::string, std::string>& tags)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::unique_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
