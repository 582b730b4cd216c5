#include "server/engine/answers/job_view.h"

#include <fmt/format.h>

#include "scheduler/expected_values.h"
#include "scheduler/state/repeat_effects.h"
#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/requester.h"
#include "spec/search_spec.h"

namespace winnow {
namespace {

constexpr size_t kMaxViews = 128;

}  // namespace

absl::StatusOr<JobHead> FindJob(Store& store, const std::string& id) {
  absl::StatusOr<std::optional<JobRow>> row = store.jobs.Find(id);
  if (!row.ok()) return row.status();
  if (!*row) return NoJob(id);
  absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson((*row)->spec);
  if (!spec.ok()) return spec.status();
  SearchSpec search = ToSearchSpec(*spec);
  return JobHead{**std::move(row), *std::move(spec), std::move(search)};
}

absl::StatusOr<std::optional<v1::TuningJob>> KeptDescription(Store& store, const JobRow& row) {
  if (row.end_us == 0) return std::nullopt;
  const absl::StatusOr<std::optional<std::string>> kept = store.summaries.Description(row.key);
  if (!kept.ok()) return kept.status();
  v1::TuningJob job;
  if (!*kept || !job.ParseFromString(**kept) || job.last_sequence() != row.last_sequence) return std::nullopt;
  absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row.spec);
  if (!spec.ok()) return spec.status();
  *job.mutable_spec() = *std::move(spec);
  return job;
}

void JobViews::Forget(int64_t key) {
  auto found = views_.find(key);
  if (found == views_.end()) return;
  ages_.erase(found->second->age);
  views_.erase(found);
}

absl::StatusOr<const JobView*> JobViews::Get(const std::string& id) {
  absl::StatusOr<std::optional<JobRow>> row = store_.jobs.Find(id);
  if (!row.ok()) return row.status();
  if (!*row) return NoJob(id);
  return Get(**row);
}

absl::StatusOr<const JobView*> JobViews::Get(const JobRow& row) {
  auto found = views_.find(row.key);
  if (found == views_.end()) {
    absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(row.spec);
    if (!spec.ok()) return spec.status();
    SearchSpec search = ToSearchSpec(*spec);
    ages_.push_front(row.key);
    Plan plan = MakePlan(search);
    std::string strategy = StrategyText(search);
    auto kept = std::make_unique<Kept>(
        Kept{{row, *std::move(spec), JobState(std::move(search)), {}, std::move(strategy), std::move(plan)},
             ages_.begin()});
    found = views_.emplace(row.key, std::move(kept)).first;
  }
  Kept& kept = *found->second;
  ages_.splice(ages_.begin(), ages_, kept.age);
  absl::Status status = ApplyFacts(store_.facts, row, kept.view.state, [&](const Fact& fact) {
    if (const auto* ended = std::get_if<BracketEnded>(&fact.body)) {
      kept.view.bracket_ends[ended->bracket] = ended->reason;
    }
    const bool plans =
        std::holds_alternative<LimitsChanged>(fact.body) || std::holds_alternative<RangeChanged>(fact.body);
    if (!plans) return;
    kept.view.plan = MakePlan(kept.view.state.spec());
    // A finite space that was changed adds to the trials that were made before.
    const int64_t most = kept.view.state.most_trials();
    if (kept.view.state.ranges_changed() && kept.view.state.table().empty() && most > 0)
      kept.view.plan.trials = most;
  });
  if (!status.ok()) {
    Forget(row.key);
    return status;
  }
  kept.view.row = row;
  if (views_.size() > kMaxViews) Forget(ages_.back());
  return &kept.view;
}

v1::BestTrial BestMessage(const JobState& state, TrialNumber trial) {
  v1::BestTrial best;
  best.set_trial(trial);
  best.set_objective(state.trial(trial).value);
  best.set_resource(state.trial(trial).value_resource);
  if (state.spec().repeats > 0 && state.trial(trial).curve.size() > 1)
    best.set_standard_error(StandardError(state.trial(trial).curve));
  for (const MetricConstraint& constraint : state.spec().metric_constraints) {
    if (state.trial(trial).curve_of(state.spec().RankingIndex(constraint.metric)).empty())
      best.add_unreported(constraint.metric);
  }
  return best;
}

bool SelectsExpected(const v1::TuningJobSpec& spec) {
  return spec.objective().selection() == v1::ObjectiveSpec::EXPECTED;
}

std::optional<v1::BestTrial> HandedOut(const JobState& state, const v1::TuningJobSpec& spec) {
  const std::optional<TrialNumber> seen = state.best_trial();
  if (!seen) return std::nullopt;
  const ExpectedValues values(state);
  std::optional<ExpectedResult> expected;
  if (SelectsExpected(spec)) expected = values.Best();
  if (!expected) expected = values.Of(*seen);
  v1::BestTrial best = BestMessage(state, expected ? expected->trial : *seen);
  if (expected) {
    best.set_expected(expected->value);
    best.set_expected_error(expected->error);
  }
  return best;
}

absl::StatusOr<TrialNumber> HandedOutTrial(Store& store, const JobRow& row, const v1::TuningJobSpec& spec,
                                           const SearchSpec& search) {
  if (SelectsExpected(spec)) {
    const absl::StatusOr<std::optional<v1::TuningJob>> kept = KeptDescription(store, row);
    if (!kept.ok()) return kept.status();
    if (*kept && (*kept)->best().has_expected()) return (*kept)->best().trial();
  }
  return store.trials.Best(row.key, search);
}

absl::Status NoBest(const JobRow& row, const SearchSpec& search) {
  return absl::NotFoundError(fmt::format("job \"{}\" has no best trial{}", row.id,
                                         search.has_several_objectives()
                                             ? ", because it has several objectives: name a trial"
                                         : row.end_us == 0 ? " yet"
                                                           : ""));
}

}  // namespace winnow
