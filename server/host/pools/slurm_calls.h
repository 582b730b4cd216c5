#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/host/pools/pool.h"

namespace winnow {

// A batch job that Slurm is asked for, or an array of them.
struct SlurmSubmission {
  std::string name;
  std::string array;  // the indices, "3-7"; "": it is none
  int nodes = 1;      // of each, with one task on each node
  WorkerShape shape;
  std::chrono::seconds time_limit{0};  // 0: Slurm's own
  std::string script;
};

// A job as Slurm sees it; an element of an array is one.
struct SlurmJob {
  std::string id;      // "7", or "7_3" of an element
  std::string state;   // PENDING, RUNNING, ...
  std::string reason;  // why it is in that state, in a word or in words; "" or "None": no reason
  std::string nodes;   // as Slurm writes them, "n[1-3]"; "": none yet
  std::string name;
  std::string index;  // of an element; otherwise anything but a number
};

// How Slurm is asked: by its commands or by its REST service. Statuses are those of Pool.
class SlurmCalls {
 public:
  virtual ~SlurmCalls() = default;

  // Returns the job's id.
  virtual absl::StatusOr<std::string> Submit(const SlurmSubmission& submission) = 0;
  // Returns at least those that Slurm knows of the jobs with these names. `ids` are theirs if all are known;
  // otherwise it is empty.
  virtual absl::StatusOr<std::vector<SlurmJob>> Jobs(const std::vector<std::string>& names,
                                                     const std::vector<std::string>& ids) = 0;
  virtual absl::Status Cancel(const std::vector<std::string>& ids) = 0;
  // As Pool::Stop, of Jobs.
  virtual void Stop() = 0;
  // What Submit would send, for people.
  virtual std::string Render(const SlurmSubmission& submission) const = 0;
};

// What Slurm's words mean for a call that has failed. `all`: everything it said. "Job violates accounting/QOS
// policy (job submit limit, ...)" is its sentence for every limit; the limit's name tells which of them a job
// can wait for.
absl::Status SlurmError(const std::string& words, const std::string& all);

// Minutes, megabytes and processors as Slurm counts them: none is less than was asked for.
int64_t SlurmMinutes(std::chrono::seconds time);
int64_t SlurmMegabytes(double gib);
int64_t SlurmProcessors(double cpus);

}  // namespace winnow
