#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "insight/trial_columns.h"
#include "scheduler/state/hyperband_table.h"
#include "store/store.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The trials of a job according to its committed rows.
struct JobTrials {
  JobTrials(JobRow the_row, v1::TuningJobSpec the_spec);

  bool has_brackets() const { return HasRungs(search.pruner.kind); }
  // Returns the levels of the bracket's rungs; none for an impossible bracket.
  std::vector<int64_t> Levels(int32_t bracket) const;

  JobRow row;  // all facts up to last_sequence are applied
  v1::TuningJobSpec spec;
  SearchSpec search;         // with every value that a range ever had
  size_t range_changes = 0;  // that `search` has
  TrialColumns columns;
  std::map<std::pair<int64_t, int64_t>, double> cutoffs;  // by bracket and rung; for rungs that are cut
  HyperbandTable table;                 // for a pruner that cuts rungs when they are full
  std::vector<BracketPlan> open_plans;  // for one whose rungs take any number
};

// Kept in memory, updated for the trials that facts have changed since; the least recently used are dropped
// when they exceed the memory limit. Owner: one thread.
class TrialTables {
 public:
  // Limits all tables; a single one may be larger.
  explicit TrialTables(Store& store, size_t most_bytes = size_t{256} << 20)
      : store_(store), most_bytes_(most_bytes) {}

  // Inside Store::Read. NOT_FOUND names the job. The pointer is valid until the next call.
  absl::StatusOr<const JobTrials*> Get(const std::string& id);
  // How often a table was read from its beginning, for tests.
  int64_t whole_reads() const { return whole_reads_; }
  // Key and objective metric of the jobs whose tables were read from their beginning since the last call.
  std::vector<std::pair<int64_t, std::string>> TakeOpened() { return std::exchange(opened_, {}); }

 private:
  struct Kept {
    std::unique_ptr<JobTrials> trials;
    std::list<std::string>::iterator age;
  };
  absl::Status Load(JobTrials& trials);
  absl::Status Catch(JobTrials& trials, const JobRow& row);
  // Whether a range has other values than before: then the columns are empty.
  absl::StatusOr<bool> TakeRanges(JobTrials& trials);
  absl::Status TakeCuts(JobTrials& trials, int64_t after);
  void Forget(const std::string& id);
  void MakeRoom();

  Store& store_;
  const size_t most_bytes_;
  int64_t whole_reads_ = 0;
  std::vector<std::pair<int64_t, std::string>> opened_;
  std::map<std::string, Kept> kept_;  // by id
  std::list<std::string> ages_;       // newest use first
};

}  // namespace winnow
