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

// The trials of a job as its committed rows say.
struct JobTrials {
  JobTrials(JobRow the_row, v1::TuningJobSpec the_spec);

  bool has_brackets() const { return HasRungs(search.pruner.kind); }
  // Levels of the bracket's rungs; none for a bracket that cannot be.
  std::vector<int64_t> Levels(int32_t bracket) const;

  JobRow row;  // last_sequence: all up to it is known
  v1::TuningJobSpec spec;
  SearchSpec search;
  TrialColumns columns;
  std::map<std::pair<int64_t, int64_t>, double> cutoffs;  // by bracket and rung; of those that are cut
  HyperbandTable table;                 // of a pruner whose rungs are cut when they are full
  std::vector<BracketPlan> open_plans;  // of one whose rungs take any number
};

// Kept in memory, brought up to date by the trials that facts have changed since; those that were used
// longest ago go when they take too much room. Owner: one thread.
class TrialTables {
 public:
  // Of all tables; one alone may be larger.
  explicit TrialTables(Store& store, size_t most_bytes = size_t{256} << 20)
      : store_(store), most_bytes_(most_bytes) {}

  // Inside Store::Read. NOT_FOUND names the job. The pointer holds until the next call.
  absl::StatusOr<const JobTrials*> Get(const std::string& id);
  // How often a table was read from its beginning, for tests.
  int64_t whole_reads() const { return whole_reads_; }
  // Key and objective metric of the jobs of which that was so since this was asked last.
  std::vector<std::pair<int64_t, std::string>> TakeOpened() { return std::exchange(opened_, {}); }

 private:
  struct Kept {
    std::unique_ptr<JobTrials> trials;
    std::list<std::string>::iterator age;
  };
  absl::Status Load(JobTrials& trials);
  absl::Status Catch(JobTrials& trials, const JobRow& row);
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
