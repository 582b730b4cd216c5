#include "server/insights/trial_tables.h"

#include <limits>

#include "scheduler/space/range_change.h"
#include "scheduler/state/job_state.h"
#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/requester.h"
#include "spec/search_spec.h"

namespace winnow {
namespace {

// With more new facts than this per known trial, the table is read again: reading single rows would be
// slower.
constexpr int64_t kFactsPerTrial = 4;

void Put(const TrialRow& row, JobTrials& trials) {
  TrialEntry entry;
  entry.number = row.number;
  entry.phase = PhaseOf(row.state).value_or(TrialPhase::kFailed);
  entry.configuration = &row.configuration;
  entry.best = row.value.value_or(std::numeric_limits<double>::quiet_NaN());
  entry.resource = row.resource;
  entry.bracket = row.bracket;
  entry.rung = row.rung;
  entry.nodes = trials.search.Nodes(row.configuration);
  entry.end_us = row.end_us;
  entry.training_us = row.training_us;
  entry.trained_resource = row.trained_resource;
  for (const std::optional<double>& value : row.metrics)
    entry.metrics.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
  entry.violation = row.violation;
  trials.columns.Put(entry);
}

}  // namespace

JobTrials::JobTrials(JobRow the_row, v1::TuningJobSpec the_spec)
    : row(std::move(the_row)), spec(std::move(the_spec)), search(ToSearchSpec(spec)), columns(search) {
  const JobState fresh(search);
  table = fresh.table();
  for (const BracketState& bracket : fresh.brackets()) open_plans.push_back(bracket.plan);
}

std::vector<int64_t> JobTrials::Levels(int32_t bracket) const {
  std::vector<int64_t> levels;
  BracketPlan plan;
  if (bracket >= 0 && static_cast<size_t>(bracket) < open_plans.size()) {
    plan = open_plans[bracket];
  } else if (bracket >= 0 && !table.empty() &&
             (table.bracket_count() < 0 || bracket < table.bracket_count())) {
    plan = table.bracket(bracket);
  }
  for (const RungPlan& rung : plan.rungs) levels.push_back(rung.resource);
  return levels;
}

absl::StatusOr<bool> TrialTables::TakeRanges(JobTrials& trials) {
  const absl::StatusOr<std::vector<Fact>> changes = store_.facts.LoadRangeChanges(trials.row.key);
  if (!changes.ok()) return changes.status();
  const bool any = changes->size() > trials.range_changes;
  for (; trials.range_changes < changes->size(); ++trials.range_changes) {
    const auto& change = std::get<RangeChanged>((*changes)[trials.range_changes].body);
    for (Parameter& parameter : trials.search.parameters) {
      if (parameter.name != change.parameter) continue;
      if (const auto range = WithValues(parameter.range, change.values))
        parameter.range = Joined(parameter.range, *range);
    }
  }
  if (any) trials.columns = TrialColumns(trials.search);
  return any;
}

absl::Status TrialTables::TakeCuts(JobTrials& trials, int64_t after) {
  if (!HasBracketTable(trials.search.pruner.kind)) return absl::OkStatus();
  const absl::StatusOr<std::vector<Fact>> cuts = store_.facts.LoadCuts(trials.row.key, after);
  if (!cuts.ok()) return cuts.status();
  for (const Fact& fact : *cuts) {
    const auto& cut = std::get<RungCut>(fact.body);
    trials.cutoffs[{cut.bracket, cut.rung}] = cut.cutoff;
  }
  return absl::OkStatus();
}

absl::Status TrialTables::Load(JobTrials& trials) {
  ++whole_reads_;
  opened_.emplace_back(trials.row.key, trials.search.objective_metric);
  if (const absl::StatusOr<bool> ranges = TakeRanges(trials); !ranges.ok()) return ranges.status();
  const absl::Status status = store_.trials.ForEach(trials.row.key, [&](const TrialRow& row) {
    Put(row, trials);
    return absl::OkStatus();
  });
  return status.ok() ? TakeCuts(trials, 0) : status;
}

absl::Status TrialTables::Catch(JobTrials& trials, const JobRow& row) {
  const int64_t after = trials.row.last_sequence;
  const int64_t facts = row.last_sequence - after;
  trials.row = row;
  if (facts == 0) return absl::OkStatus();
  const absl::StatusOr<bool> ranges = TakeRanges(trials);
  if (!ranges.ok()) return ranges.status();
  if (*ranges || facts > kFactsPerTrial * static_cast<int64_t>(trials.columns.size())) return Load(trials);
  const absl::StatusOr<std::vector<TrialNumber>> changed = store_.facts.ChangedTrials(row.key, after);
  if (!changed.ok()) return changed.status();
  for (const TrialNumber number : *changed) {
    const absl::StatusOr<std::optional<TrialRow>> trial = store_.trials.Find(row.key, number);
    if (!trial.ok()) return trial.status();
    // A search model may have named a trial that was never created.
    if (*trial) Put(**trial, trials);
  }
  return TakeCuts(trials, after);
}

absl::StatusOr<const JobTrials*> TrialTables::Get(const std::string& id) {
  absl::StatusOr<std::optional<JobRow>> row = store_.jobs.Find(id);
  if (!row.ok()) return row.status();
  if (!*row) {
    Forget(id);
    return NoJob(id);
  }
  auto found = kept_.find(id);
  absl::Status status;
  if (found == kept_.end()) {
    absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson((*row)->spec);
    if (!spec.ok()) return spec.status();
    ages_.push_front(id);
    auto trials = std::make_unique<JobTrials>(**row, *std::move(spec));
    found = kept_.emplace(id, Kept{std::move(trials), ages_.begin()}).first;
    status = Load(*found->second.trials);
  } else {
    ages_.splice(ages_.begin(), ages_, found->second.age);
    status = Catch(*found->second.trials, **row);
  }
  if (!status.ok()) {
    Forget(id);
    return status;
  }
  MakeRoom();
  return found->second.trials.get();
}

void TrialTables::Forget(const std::string& id) {
  const auto found = kept_.find(id);
  if (found == kept_.end()) return;
  ages_.erase(found->second.age);
  kept_.erase(found);
}

void TrialTables::MakeRoom() {
  size_t bytes = 0;
  for (const auto& [id, kept] : kept_) bytes += kept.trials->columns.bytes();
  while (bytes > most_bytes_ && ages_.size() > 1) {
    bytes -= kept_.at(ages_.back()).trials->columns.bytes();
    Forget(std::string(ages_.back()));
  }
}

}  // namespace winnow
