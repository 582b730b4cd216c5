#include "scheduler/state/job_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "scheduler/state/budget.h"
#include "scheduler/state/contradiction.h"

namespace winnow {

std::optional<double> TrialState::counted_at(int64_t resource, ObjectiveValue counts) const {
  const std::optional<double> newest = curve.at(resource);
  if (counts != ObjectiveValue::kMean || !newest) return newest;
  double mean = 0;
  ForEachCounted(curve, counts, [&](int64_t level, double so_far) {
    if (level <= resource) mean = so_far;
  });
  return mean;
}

int64_t TrialState::highest_level() const {
  int64_t level = curve.empty() ? 0 : curve.back().first;
  for (const Curve& other : further) level = std::max(level, other.empty() ? 0 : other.back().first);
  return level;
}

JobState::JobState(SearchSpec spec)
    : search_(std::move(spec)),
      completed_averages_(search_.spec.objective_count(),
                          MedianIndex(TraitsOf(search_.spec.pruner.kind).averages)),
      completion_index_(search_.spec.completion),
      failures_(search_.spec.limits.max_first_failures) {
  const PrunerSettings& pruner = search_.spec.pruner;
  if (!HasOpenRungs(pruner.kind)) return;
  for (BracketPlan& plan : OpenBrackets(pruner.rungs, pruner.open_brackets())) {
    BracketState& bracket = brackets_.emplace_back();
    for (const RungPlan& rung : plan.rungs) {
      bracket.rungs.emplace_back().resource = rung.resource;
      if (search_.spec.ranks_by_standing()) {
        bracket.rungs.back().top_front.emplace(pruner.rungs.reduction_factor, search_.spec.AllObjectives());
      } else {
        bracket.rungs.back().top.emplace(pruner.rungs.reduction_factor);
      }
    }
    bracket.plan = std::move(plan);
  }
}

bool JobState::may_create() const {
  const auto created = static_cast<int64_t>(trials_.size());
  const int64_t planned = table().trial_count();  // 0: any number
  return (most_trials() == 0 || created < most_trials()) && (planned == 0 || created < planned) &&
         !exhausted();
}

std::optional<TrialNumber> JobState::best_trial() const {
  if (best_settled_.empty()) return leading_trial();
  return best_settled_.first().second;
}

std::optional<TrialNumber> JobState::leading_trial() const {
  if (best_.empty()) return std::nullopt;
  return best_.first().second;
}

bool JobState::any_finite_objective() const {
  if (!spec().ranks_by_standing()) return !best_.empty();
  return std::any_of(trials_.begin(), trials_.end(), [](const TrialState& trial) {
    return trial.value_resource > 0 && trial.phase != TrialPhase::kFailed;
  });
}

RungState* JobState::RungOf(const TrialState& trial) {
  return trial.bracket < 0 ? nullptr : &brackets_[trial.bracket].rungs[trial.rung];
}

int64_t& JobState::CountOf(TrialPhase phase) {
  switch (phase) {
    case TrialPhase::kPending:
      return totals_.pending;
    case TrialPhase::kRunning:
      return totals_.running;
    case TrialPhase::kPaused:
      return totals_.paused;
    case TrialPhase::kCompleted:
      return totals_.completed;
    case TrialPhase::kPruned:
      return totals_.pruned;
    case TrialPhase::kCancelled:
      return totals_.cancelled;
    default:
      return totals_.failed;
  }
}

void JobState::SetPhase(TrialState& trial, TrialPhase phase) {
  --CountOf(trial.phase);
  ++CountOf(phase);
  if (trial.phase == TrialPhase::kPending) pending_.erase(PlaceInQueue(trial));
  if (phase == TrialPhase::kPending) pending_.insert(PlaceInQueue(trial));
  trial.phase = phase;
}

std::pair<int64_t, TrialNumber> JobState::PlaceInQueue(const TrialState& trial) const {
  return {HasOpenRungs(spec().pruner.kind) ? -trial.rung : trial.bracket, trial.number};
}

void JobState::RankBest(TrialState& trial, int64_t resource, double objective) {
  if (!std::isfinite(objective)) return;
  const double sign = spec().goal == Goal::kMaximize ? -1 : 1;
  const double key = sign * objective, known = sign * trial.best_objective;
  const bool is_first = trial.best_resource == 0;
  // Reports need not come in the order of their levels.
  if (!is_first && std::make_pair(key, resource) > std::make_pair(known, trial.best_resource)) return;
  trial.best_resource = resource;
  trial.best_objective = objective;
}

// After one of its curves or its phase has changed.
void JobState::RankValue(TrialState& trial) {
  const double before = trial.value, violated = trial.violation;
  const bool counted = trial.value_resource > 0, knew = trial.knows_constraints;
  Standing standing;
  if (spec().ranks_by_standing()) {
    standing = FinalStanding(spec(), trial);
    trial.violation = standing.violation;
    trial.knows_constraints = KnowsConstraints(spec(), trial);
  }
  if (spec().has_several_objectives()) {
    trial.value_resource = CommonLevel(trial);
    trial.value = trial.value_resource > 0 ? trial.curve.back().second : 0;
    const bool takes_part = TakesPart(trial, standing);
    front_.Offer(std::move(standing), takes_part);
    return;
  }
  if (trial.curve.empty()) return;
  switch (spec().objective_value) {
    case ObjectiveValue::kBest:
      trial.value = trial.best_objective;
      trial.value_resource = trial.best_resource;
      break;
    case ObjectiveValue::kLast:
      std::tie(trial.value_resource, trial.value) = trial.curve.back();
      break;
    case ObjectiveValue::kMean:
      trial.value = trial.curve.mean();
      trial.value_resource = trial.curve.back().first;
      break;
  }
  if (!std::isfinite(trial.value)) {
    trial.value = 0;
    trial.value_resource = 0;
  }
  if ((trial.value_resource > 0) != counted || trial.value != before || trial.violation != violated ||
      trial.knows_constraints != knew)
    Offer(trial);
}

// With several objectives: the highest level at or above which each has a value; 0: one has none, or its
// newest is not finite.
int64_t JobState::CommonLevel(const TrialState& trial) const {
  int64_t level = std::numeric_limits<int64_t>::max();
  for (size_t i = 0; i < spec().objectives.size(); ++i) {
    const Curve& curve = trial.curve_of(static_cast<int64_t>(i));
    if (curve.empty() || !std::isfinite(curve.back().second)) return 0;
    level = std::min(level, curve.back().first);
  }
  return level;
}

// Takes what the trial counts now in place of what it counted before.
void JobState::Offer(const TrialState& trial) {
  const auto holds = [this](const FirstOf::Entry& entry) { return IsBestOf(entry); };
  const FirstOf::Entry entry{spec().goal == Goal::kMaximize ? -trial.value : trial.value, trial.number};
  const bool counts = trial.value_resource > 0 && trial.phase != TrialPhase::kFailed && trial.violation == 0;
  const bool differs = spec().objective_value != ObjectiveValue::kBest || !spec().metric_constraints.empty();
  if (counts) best_.Add(entry);
  if (counts && differs && IsSettled(spec(), trial)) best_settled_.Add(entry);
  for (FirstOf* each : {&best_, &best_settled_}) {
    each->DropUnless(holds);
    if (each->size() > 2 * trials_.size()) each->KeepOnly(holds);
  }
}

// Whether it is still what its trial counts, and that has not failed.
bool JobState::IsBestOf(const FirstOf::Entry& entry) const {
  const TrialState& trial = trials_[entry.second - 1];
  const double key = spec().goal == Goal::kMaximize ? -trial.value : trial.value;
  return trial.phase != TrialPhase::kFailed && trial.value_resource > 0 && trial.violation == 0 &&
         key == entry.first;
}

// What a trial that is stopped now has become: that is not part of the recorded fact, but follows from those
// before it.
TrialPhase JobState::PhaseOfStopped(const TrialState& trial) const {
  if (!closing()) {
    // Only what can never be paid for is given up while it waits for a slot; but a weak bracket's trials are
    // pruned.
    const bool pruned = trial.phase != TrialPhase::kPending || trial.to == 0 ||
                        (trial.bracket >= 0 && brackets_[trial.bracket].ended && !trial.kept) ||
                        PaysEver(*this, trial.to - trial.checkpoint);
    return pruned ? TrialPhase::kPruned : TrialPhase::kCancelled;
  }
  // Nothing is left to do: those that others were preferred to have lost to them.
  const bool left = completion_met_ && completion_met_->nothing_left && trial.phase == TrialPhase::kPaused;
  if (!left || trial.kept || !HasOpenRungs(spec().pruner.kind)) return TrialPhase::kCancelled;
  if (TraitsOf(spec().pruner.kind).asks_model) return TrialPhase::kPruned;
  const bool may_go_on = brackets_[trial.bracket].rungs[trial.rung].IsTop(trial.number);
  return may_go_on ? TrialPhase::kCancelled : TrialPhase::kPruned;
}

Failures::Kind JobState::KindOfFailure(const TrialState& trial) const {
  if (FailedByMachines(trial)) return Failures::Kind::kOfMachines;
  if (trial.failures > 0) return Failures::Kind::kOfTrainer;
  const bool diverged = !trial.curve.empty() && !std::isfinite(trial.curve.back().second);
  return diverged ? Failures::Kind::kDiverged : Failures::Kind::kWithoutValue;
}

template <>
void JobState::On(const Reported& fact, int64_t time_us) {
  failures_.OnReport();
  TrialState& trial = At(fact.trial);
  Taken(trial);  // it cannot be trained without
  const int64_t newest = trial.highest_level();
  Curve& curve = fact.metric == 0 ? trial.curve : trial.further[fact.metric - 1];
  if (curve.Add(fact.resource, fact.objective)) {
    if (fact.metric == 0) RankBest(trial, fact.resource, fact.objective);
    RankValue(trial);
    const bool of_objective = fact.metric < static_cast<int64_t>(spec().objective_count());
    if (of_objective && spec().pruner.passes_rungs() && !trial.ended() && !RungOf(trial)->Has(trial.number))
      PassRungs(trial, spec().has_several_objectives() ? CommonLevel(trial) : fact.resource);
  }
  if (!trial.live || fact.attempt != trial.attempts) return;
  if (trial.attempt_first.first == 0) trial.attempt_first = {fact.resource, time_us};
  if (fact.resource > trial.attempt_last.first) trial.attempt_last = {fact.resource, time_us};
  const int64_t level = trial.to > 0 ? std::min(fact.resource, trial.to) : fact.resource;
  if (level <= trial.attempt_reached) return;
  // An attempt whose first report is beyond all that is known went on from a checkpoint beyond `from`.
  const bool beyond = spec().resumes && level > newest;
  const int64_t begun = beyond ? std::max(trial.attempt_reached, newest) : trial.attempt_reached;
  if (trial.to > 0) totals_.reserved_resource -= level - trial.attempt_reached;
  trial.attempt_reached = level;
  trial.trained_resource += level - begun;
  totals_.resource += level - begun;
}

template <>
void JobState::On(const AttemptStarted& fact, int64_t time_us) {
  TrialState& trial = At(fact.trial);
  SetPhase(trial, TrialPhase::kRunning);
  trial.to = fact.to;
  trial.attempts = fact.attempt;
  trial.live = true;
  trial.attempt_from = trial.attempt_reached = fact.from;
  trial.attempt_started_us = time_us;
  trial.attempt_first = trial.attempt_last = {};
  if (trial.attempts == 1) trial.started_us = time_us;
  ++totals_.live_attempts;
  totals_.live_nodes += trial.nodes;
  if (fact.to > 0) totals_.reserved_resource += fact.to - fact.from;
  if (!fact.prices.empty()) priced_places_[fact.trial] = {fact.pools, fact.prices};
}

template <>
void JobState::On(const AttemptEnded& fact, int64_t) {
  TrialState& trial = At(fact.trial);
  trial.live = false;
  --totals_.live_attempts;
  totals_.live_nodes -= trial.nodes;
  if (suggestion_ && suggestion_->trial == 0) suggestion_.reset();  // it may say more now
  if (trial.to > 0) totals_.reserved_resource -= trial.to - trial.attempt_reached;
  const int64_t took = fact.started_us > 0 ? std::max<int64_t>(0, fact.ended_us - fact.started_us) : 0;
  trial.training_us += took;
  totals_.training_us += took;
  totals_.node_us += took * trial.nodes;
  if (const auto places = priced_places_.extract(fact.trial)) Pay(places.mapped(), took);
  NoteTimes(trial, fact.started_us, took);
  if (fact.outcome == AttemptOutcome::kFailed) ++trial.failures;
  if (fact.outcome == AttemptOutcome::kLost) ++trial.losses;
  // An earlier attempt may have reported levels that this one found in its checkpoint.
  int64_t level = std::max(trial.attempt_reached, trial.highest_level());
  if (trial.to > 0) level = std::min(level, trial.to);
  if (fact.outcome == AttemptOutcome::kFinished) {
    const int64_t own_end = spec().OwnEnd(trial.configuration);
    trial.at_own_end = level < trial.to || (own_end > 0 && level >= own_end);
    if (spec().goes_on()) trial.checkpoint = level;
    // One of several objectives may well be the same everywhere.
    if (!spec().has_several_objectives())
      identical_curves_.OnPart(spec(), trial.number, trial.configuration, trial.curve);
  } else if (fact.outcome == AttemptOutcome::kHandedBack && spec().resumes) {
    trial.checkpoint = std::max(trial.checkpoint, trial.attempt_reached);
  }
}

void JobState::Pay(const PricedPlaces& places, int64_t took_us) {
  const double hours = static_cast<double>(took_us) / kMicrosOfHour;
  for (size_t rank = 0; rank < places.prices.size(); ++rank) {
    const double cost = places.prices[rank] * hours;
    totals_.cost += cost;
    if (places.pools[rank].empty()) continue;
    PoolSpending& spending = pool_spending_[places.pools[rank]];
    spending.node_us += took_us;
    spending.cost += cost;
  }
}

void JobState::NoteTimes(TrialState& trial, int64_t started_us, int64_t took_us) {
  if (started_us == 0) return;
  startup_.AddRun(started_us, started_us + took_us);
  const auto& [first, first_us] = trial.attempt_first;
  const auto& [last, last_us] = trial.attempt_last;
  if (first == 0) {
    startup_.AddSilent(took_us);
    return;
  }
  const Startup::Part part{first_us - started_us, first - trial.attempt_from, last_us - first_us,
                           last - first};
  if (!startup_.Add(part)) return;
  trial.timed_us += part.later_us;
  trial.timed_units += part.later_units;
}

template <>
void JobState::On(const CheckpointLost& fact, int64_t) {
  TrialState& trial = At(fact.trial);
  Taken(trial);
  trial.checkpoint = 0;
  trial.origin = 0;
  trial.origin_resource = 0;
}

template <>
void JobState::On(const CheckpointTaken& fact, int64_t) {
  Taken(At(fact.trial));
}

// Its origin need not wait for it any more.
void JobState::Taken(TrialState& trial) {
  if (!trial.has_to_take) return;
  trial.has_to_take = false;
  --At(trial.origin).to_be_taken;
}

template <>
void JobState::On(const StopRequested& fact, int64_t) {
  if (ended_ || stop_requested_) return;
  stop_requested_ = true;
  stop_reason_ = fact.reason;
  stopped_as_failed_ = fact.failed;
}

template <>
void JobState::On(const TimeLimitReached& fact, int64_t) {
  if (!time_limit_) time_limit_ = fact.limit;
}

template <>
void JobState::On(const JobPaused&, int64_t) {
  paused_ = true;
}

template <>
void JobState::On(const JobResumed&, int64_t) {
  paused_ = false;
}

template <>
void JobState::On(const JobContinued&, int64_t) {
  paused_ = false;
  stop_requested_ = false;
  stop_reason_.clear();
  stopped_as_failed_ = false;
  time_limit_.reset();
  completion_met_.reset();
  suggestion_.reset();
  ended_.reset();
}

template <>
void JobState::On(const LimitsChanged& fact, int64_t) {
  limits_changed_ = true;
  search_.ChangeLimits(fact);
  suggestion_.reset();  // it was made with others
}

template <>
void JobState::On(const SchedulingChanged& fact, int64_t) {
  scheduling_ = fact;
}

template <>
void JobState::On(const RangeChanged& fact, int64_t) {
  const std::vector<Parameter> known = known_space().parameters();
  search_ = SearchAfter(fact);
  suggestion_.reset();  // it was made in another space
  // A model that was fitted lies in the coordinates of the known space.
  if (known_space().parameters() != known) model_.clear();
}

template <>
void JobState::On(const TrialStopRequested&, int64_t) {}  // its end follows

template <>
void JobState::On(const TrialKept& fact, int64_t) {
  At(fact.trial).kept = !fact.released;
  if (fact.released) {
    kept_.erase(fact.trial);
  } else {
    kept_.insert(fact.trial);
  }
}

template <>
void JobState::On(const ConfigurationEnqueued& fact, int64_t) {
  queue_.push_back(fact);
}

template <>
void JobState::On(const EarlierResult& fact, int64_t) {
  earlier_results_.push_back(fact);
}

bool JobState::KeepsBrackets(const LimitsChanged& changed) const {
  Search search = search_;
  search.ChangeLimits(changed);
  return search.table == table();
}

Search JobState::SearchAfter(const RangeChanged& changed) const {
  Search search = search_;
  search.ChangeRange(changed, trials_);
  return search;
}

bool JobState::noticed(NoticeKind kind) const {
  return std::any_of(notices_.begin(), notices_.end(),
                     [kind](const auto& notice) { return notice.first.kind == kind; });
}

template <>
void JobState::On(const Noticed& fact, int64_t time_us) {
  notices_.emplace_back(fact, time_us);
}

template <>
void JobState::On(const Suggested& fact, int64_t) {
  suggestion_ = fact;
  if (!fact.model.empty()) model_ = fact.model;
  const bool goes_on = fact.trial > 0 && fact.configuration.empty();
  if (fact.to == 0) return;
  suggested_units_[static_cast<size_t>(fact.rule)] += fact.to - (goes_on ? At(fact.trial).checkpoint : 0);
  ++suggested_parts_[static_cast<size_t>(fact.rule)];
}

template <>
void JobState::On(const TrialCreated& fact, int64_t time_us) {
  TrialState trial;
  trial.number = fact.trial;
  trial.configuration = fact.configuration;
  trial.nodes = spec().Nodes(fact.configuration);
  trial.further.resize(metrics().size() - 1);
  trial.bracket = fact.bracket;
  trial.rung = fact.rung;
  trial.to = fact.to;
  trial.root = fact.trial;
  if (fact.origin > 0) {
    TrialState& origin = At(fact.origin);
    trial.origin = fact.origin;
    trial.root = origin.root;
    trial.origin_resource = trial.checkpoint = origin.checkpoint;
    trial.has_to_take = true;
    ++origin.to_be_taken;
  }
  const bool queued = std::erase_if(queue_, [&](const ConfigurationEnqueued& one) {
                        return one.configuration == fact.configuration;
                      }) > 0;
  if (suggestion_ && !queued) trial.created_by = trial.chosen_by = suggestion_->rule;
  trial.created_us = time_us;
  trials_.push_back(std::move(trial));
  ++totals_.pending;
  pending_.insert(PlaceInQueue(trials_.back()));
  if (space().size() > 0 && (!ranges_changed() || space().Holds(fact.configuration)))
    search_.tried.insert(fact.configuration);
  suggestion_.reset();
  if (fact.bracket < 0) return;
  if (fact.bracket == static_cast<int64_t>(brackets_.size())) {
    BracketState bracket{table().bracket(fact.bracket), {}};
    for (const RungPlan& rung : bracket.plan.rungs) {
      bracket.rungs.emplace_back();
      bracket.rungs.back().resource = rung.resource;
    }
    brackets_.push_back(std::move(bracket));
  }
  brackets_[fact.bracket].rungs[fact.rung].entered.push_back(fact.trial);
}

template <>
void JobState::On(const TrialResumed& fact, int64_t) {
  TrialState& trial = At(fact.trial);
  if (trial.phase == TrialPhase::kPaused && RungOf(trial)->cut) --undecided_;
  if (suggestion_ && suggestion_->trial == fact.trial) {
    trial.chosen_by = suggestion_->rule;
    suggestion_.reset();
  }
  trial.to = fact.to;
  if (trial.kept && trial.phase == TrialPhase::kPaused && fact.rung == trial.rung && trial.bracket >= 0) {
    trial.beside = true;
    if (RungOf(trial)->is_open()) RungOf(trial)->Take(trial.number);
  }
  if (fact.rung > trial.rung) {
    if (RungOf(trial)->is_open()) RungOf(trial)->Take(trial.number);
    trial.rung = fact.rung;
    RungOf(trial)->entered.push_back(trial.number);
  }
  SetPhase(trial, TrialPhase::kPending);
}

template <>
void JobState::On(const TrialPaused& fact, int64_t) {
  TrialState& trial = At(fact.trial);
  SetPhase(trial, TrialPhase::kPaused);
  RungState& rung = *RungOf(trial);
  if (rung.is_open()) {
    ArriveAt(rung, trial, rung.resource);
  } else {
    ++rung.arrived;
  }
}

template <>
void JobState::On(const TrialEnded& fact, int64_t time_us) {
  TrialState& trial = At(fact.trial);
  Taken(trial);
  kept_.erase(fact.trial);
  const TrialPhase phase = fact.end == TrialEnd::kCompleted ? TrialPhase::kCompleted
                           : fact.end == TrialEnd::kStopped ? PhaseOfStopped(trial)
                                                            : TrialPhase::kFailed;
  RungState* rung = RungOf(trial);
  const bool arrived = trial.phase == TrialPhase::kPaused || trial.beside ||
                       (rung != nullptr && rung->is_open() && rung->Has(trial.number));
  if (rung != nullptr && !arrived) {
    if (rung->is_open() && fact.end == TrialEnd::kCompleted) {
      ArriveAt(*rung, trial, rung->resource);
    } else {
      ++rung->arrived;
    }
  }
  if (trial.phase == TrialPhase::kPaused && rung->cut) --undecided_;
  if (rung != nullptr && rung->is_open()) rung->Take(trial.number);
  if (suggestion_ && suggestion_->trial == fact.trial) suggestion_.reset();
  SetPhase(trial, phase);
  if (spec().ranks_by_standing()) RankValue(trial);
  const bool goes_before =
      fact.end == TrialEnd::kCompleted && spec().objective_value != ObjectiveValue::kBest;
  if (!spec().has_several_objectives() && (goes_before || fact.end == TrialEnd::kFailed)) Offer(trial);
  if (fact.end == TrialEnd::kFailed && !FailedByMachines(trial)) {
    FailAtRungs(trial);
  } else if (fact.end != TrialEnd::kCompleted) {
    ForgetOriginal(trial);
  }
  if (fact.end == TrialEnd::kFailed)
    failures_.Add(trial.number, KindOfFailure(trial), fact.reason, static_cast<int64_t>(trials_.size()));
  trial.reason = fact.reason;
  trial.ended_us = time_us;
  const bool has_value = spec().objective_value == ObjectiveValue::kBest ? fact.end != TrialEnd::kFailed
                                                                         : fact.end == TrialEnd::kCompleted;
  std::optional<double> key;
  if (spec().has_several_objectives()) {
    const double volume = spec().completion.no_improvement_trials > 0 ? front_hypervolume() : 0;
    if (volume > 0) key = -volume;
  } else if (has_value && trial.value_resource > 0 && trial.violation == 0) {
    key = spec().goal == Goal::kMaximize ? -trial.value : trial.value;
  }
  completion_index_.Add(key);
  if (fact.end != TrialEnd::kCompleted) return;
  const std::vector<Objective> objectives = spec().AllObjectives();
  for (size_t i = 0; i < objectives.size(); ++i) {
    completed_averages_[i].Add(trial.number, trial.curve_of(static_cast<int64_t>(i)), objectives[i].Key(1));
  }
}

template <>
void JobState::On(const RungCut& fact, int64_t) {
  RungState& rung = brackets_[fact.bracket].rungs[fact.rung];
  rung.cut = true;
  rung.promoted = fact.promoted;
  rung.survivors.assign(fact.ranking.begin(), fact.ranking.begin() + fact.promoted);
  if (fact.promoted > 0 && !std::isnan(fact.cutoff)) rung.cutoff = fact.cutoff;
  for (TrialNumber number : rung.entered) {
    const TrialState& trial = At(number);
    if (trial.rung == fact.rung && trial.phase == TrialPhase::kPaused) ++undecided_;
  }
}

template <>
void JobState::On(const BracketEnded& fact, int64_t) {
  brackets_[fact.bracket].ended = true;
  brackets_[fact.bracket].why_ended = fact.reason;
}

template <>
void JobState::On(const CompletionMet& fact, int64_t) {
  completion_met_ = fact;
}

template <>
void JobState::On(const JobEnded& fact, int64_t) {
  ended_ = fact;
}

std::string JobState::Contradiction(const Fact& fact) const {
  if (fact.sequence != last_sequence_ + 1) {
    return "its number should be " + std::to_string(last_sequence_ + 1);
  }
  const bool any_time = std::holds_alternative<StopRequested>(fact.body) ||
                        std::holds_alternative<Noticed>(fact.body) ||
                        std::holds_alternative<JobContinued>(fact.body);
  if (ended_ && !any_time) return "the job has already ended";
  return ContradictionOf(*this, fact.body);
}

void JobState::Apply(const Fact& fact) {
  const std::string contradiction = Contradiction(fact);
  WINNOW_CHECK(contradiction.empty(), "fact " + std::to_string(fact.sequence) + " (" + Describe(fact.body) +
                                          ") contradicts its job's state: " + contradiction);
  last_sequence_ = fact.sequence;
  if (IsChange(fact.body)) changes_.emplace_back(fact.time_us, fact.body);
  std::visit([this, &fact](const auto& body) { On(body, fact.time_us); }, fact.body);
}

}  // namespace winnow
