#include "scheduler/state/job_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "scheduler/space/grid.h"
#include "scheduler/state/budget.h"

namespace winnow {
namespace {

// Ends the process with the reason on standard error: an exception that leaves a noexcept function does, and
// needs no stream here.
[[noreturn]] void Raise(const std::string& why) { throw std::logic_error(why); }
[[noreturn]] void Broken(const Fact& fact, const std::string& why) noexcept {
  Raise("fact " + std::to_string(fact.sequence) + " (" + Describe(fact.body) +
        ") contradicts its job's state: " + why);
}

// The least of those that are not 0.
int64_t Least(std::initializer_list<int64_t> limits) {
  int64_t least = 0;
  for (int64_t limit : limits) least = least == 0 ? limit : limit == 0 ? least : std::min(least, limit);
  return least;
}

int64_t TrialLimit(const SearchSpec& spec, const SearchSpace& space, const Lattice* grid) {
  return Least({spec.limits.max_trials, space.size(), grid == nullptr ? 0 : GridTrials(spec, *grid)});
}

}  // namespace

std::optional<double> TrialState::value_at(int64_t resource) const {
  const auto after = std::upper_bound(curve.begin(), curve.end(), resource,
                                      [](int64_t level, const auto& point) { return level < point.first; });
  if (after == curve.begin()) return std::nullopt;
  return std::prev(after)->second;
}

std::optional<double> TrialState::counted_at(int64_t resource, ObjectiveValue counts) const {
  const std::optional<double> newest = value_at(resource);
  if (counts != ObjectiveValue::kMean || !newest) return newest;
  double mean = 0;
  ForEachCounted(*this, counts, [&](int64_t level, double so_far) {
    if (level <= resource) mean = so_far;
  });
  return mean;
}

JobState::JobState(SearchSpec spec)
    : spec_(std::move(spec)),
      space_(spec_.parameters, spec_.constraints),
      grid_(spec_.sampler.kind == SamplerKind::kGrid ? GridOf(spec_) : nullptr),
      most_trials_(TrialLimit(spec_, space_, grid_.get())),
      completion_index_(spec_.completion),
      first_failures_(spec_.limits.max_first_failures) {
  const PrunerSettings& pruner = spec_.pruner;
  if (HasBracketTable(pruner.kind)) table_ = HyperbandTable(spec_, most_trials_);
  if (!HasOpenRungs(pruner.kind)) return;
  const int64_t count = pruner.kind == PrunerKind::kAsha ? pruner.asha_brackets : 1;
  for (BracketPlan& plan : OpenBrackets(pruner.rungs, count)) {
    BracketState& bracket = brackets_.emplace_back();
    for (const RungPlan& rung : plan.rungs) {
      bracket.rungs.emplace_back().resource = rung.resource;
      bracket.rungs.back().top.emplace(pruner.rungs.reduction_factor);
    }
    bracket.plan = std::move(plan);
  }
}

void JobState::Apply(const Fact& fact) {
  if (const std::string why = Contradiction(fact); !why.empty()) Broken(fact, why);
  last_sequence_ = fact.sequence;
  std::visit([this, &fact](const auto& body) { On(body, fact.time_us); }, fact.body);
}

bool JobState::may_create() const {
  const auto created = static_cast<int64_t>(trials_.size());
  const int64_t planned = table_.trial_count();  // 0: any number
  return (most_trials_ == 0 || created < most_trials_) && (planned == 0 || created < planned) && !exhausted();
}

std::optional<TrialNumber> JobState::best_trial() const {
  if (best_completed_.empty()) return leading_trial();
  return best_completed_.first().second;
}

std::optional<TrialNumber> JobState::leading_trial() const {
  if (best_.empty()) return std::nullopt;
  return best_.first().second;
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
  return {HasOpenRungs(spec_.pruner.kind) ? -trial.rung : trial.bracket, trial.number};
}

// With what it counts at `level`. REQUIRES an open rung.
void JobState::ArriveAt(RungState& rung, const TrialState& trial, int64_t level) {
  const double value =
      trial.counted_at(level, spec_.objective_value).value_or(std::numeric_limits<double>::quiet_NaN());
  ++rung.arrived;
  rung.top->Add(spec_.goal == Goal::kMaximize ? -value : value, trial.number);
}

// A trial that does not pause at its rungs has reported a level: it arrives at every rung up to there, but
// for those beyond one that it does not pass. It stays at that one: the pruner stops it.
void JobState::PassRungs(TrialState& trial, int64_t resource) {
  const bool waits = trial.phase == TrialPhase::kPending;
  if (waits) pending_.erase(PlaceInQueue(trial));
  std::vector<RungState>& rungs = brackets_[trial.bracket].rungs;
  while (trial.rung + 1 < static_cast<int64_t>(rungs.size()) && rungs[trial.rung].resource <= resource) {
    RungState& rung = rungs[trial.rung];
    ArriveAt(rung, trial, resource);
    if (!rung.top->IsTopOrTied(trial.number)) break;
    rung.top->Take(trial.number);
    rungs[++trial.rung].entered.push_back(trial.number);
  }
  if (waits) pending_.insert(PlaceInQueue(trial));
}

void JobState::RankBest(TrialState& trial, int64_t resource, double objective) {
  if (!std::isfinite(objective)) return;
  const double sign = spec_.goal == Goal::kMaximize ? -1 : 1;
  const double key = sign * objective, known = sign * trial.best_objective;
  const bool is_first = trial.best_resource == 0;
  // Reports need not come in the order of their levels.
  if (!is_first && std::make_pair(key, resource) > std::make_pair(known, trial.best_resource)) return;
  trial.best_resource = resource;
  trial.best_objective = objective;
}

// After its curve has changed.
void JobState::RankValue(TrialState& trial) {
  const double before = trial.value;
  const bool counted = trial.value_resource > 0;
  switch (spec_.objective_value) {
    case ObjectiveValue::kBest:
      trial.value = trial.best_objective;
      trial.value_resource = trial.best_resource;
      break;
    case ObjectiveValue::kLast:
      std::tie(trial.value_resource, trial.value) = trial.curve.back();
      break;
    case ObjectiveValue::kMean:
      trial.value = trial.curve_sum / static_cast<double>(trial.curve.size());
      trial.value_resource = trial.curve.back().first;
      break;
  }
  if (!std::isfinite(trial.value)) {
    trial.value = 0;
    trial.value_resource = 0;
  }
  if ((trial.value_resource > 0) != counted || trial.value != before) Offer(trial);
}

// Takes what the trial counts now in place of what it counted before.
void JobState::Offer(const TrialState& trial) {
  const auto holds = [this](const FirstOf::Entry& entry) { return IsBestOf(entry); };
  const FirstOf::Entry entry{spec_.goal == Goal::kMaximize ? -trial.value : trial.value, trial.number};
  const bool counts = trial.value_resource > 0 && trial.phase != TrialPhase::kFailed;
  const bool completed = trial.phase == TrialPhase::kCompleted && spec_.objective_value != ObjectiveValue::kBest;
  if (counts) best_.Add(entry);
  if (counts && completed) best_completed_.Add(entry);
  for (FirstOf* each : {&best_, &best_completed_}) {
    each->DropUnless(holds);
    if (each->size() > 2 * trials_.size()) each->KeepOnly(holds);
  }
}

// Whether it is still what its trial counts, and that has not failed.
bool JobState::IsBestOf(const FirstOf::Entry& entry) const {
  const TrialState& trial = trials_[entry.second - 1];
  const double key = spec_.goal == Goal::kMaximize ? -trial.value : trial.value;
  return trial.phase != TrialPhase::kFailed && trial.value_resource > 0 && key == entry.first;
}

// What a trial that is stopped now has become: that is not part of the recorded fact, but follows from those before it.
TrialPhase JobState::PhaseOfStopped(const TrialState& trial) const {
  if (!closing()) {
    // Only what can never be paid for is given up while it waits for a slot; but a weak bracket's trials are pruned.
    const bool pruned = trial.phase != TrialPhase::kPending || trial.to == 0 ||
                        (trial.bracket >= 0 && brackets_[trial.bracket].ended) ||
                        PaysEver(*this, trial.to - trial.checkpoint);
    return pruned ? TrialPhase::kPruned : TrialPhase::kCancelled;
  }
  // Nothing is left to do: those that others were preferred to have lost to them.
  const bool left = completion_met_ && completion_met_->nothing_left && trial.phase == TrialPhase::kPaused;
  if (!left || !HasOpenRungs(spec_.pruner.kind)) return TrialPhase::kCancelled;
  if (spec_.pruner.kind == PrunerKind::kFreezeThaw) return TrialPhase::kPruned;
  const bool may_go_on = brackets_[trial.bracket].rungs[trial.rung].top->IsTop(trial.number);
  return may_go_on ? TrialPhase::kCancelled : TrialPhase::kPruned;
}

void JobState::On(const Reported& fact, int64_t time_us) {
  first_failures_.OnReport();
  TrialState& trial = At(fact.trial);
  const int64_t newest = trial.curve.empty() ? 0 : trial.curve.back().first;
  const auto place = std::lower_bound(trial.curve.begin(), trial.curve.end(), fact.resource,
                                      [](const auto& point, int64_t level) { return point.first < level; });
  if (place == trial.curve.end() || place->first != fact.resource) {
    const bool is_highest = place == trial.curve.end();
    trial.curve.emplace(place, fact.resource, fact.objective);
    if (spec_.objective_value == ObjectiveValue::kMean) {
      if (!is_highest) trial.curve_sum = 0;
      // In the order of the levels, whatever that of the reports: so it is what a sum over the curve is.
      for (auto point = is_highest ? std::prev(trial.curve.end()) : trial.curve.begin(); point != trial.curve.end(); ++point)
        trial.curve_sum += point->second;
    }
    RankBest(trial, fact.resource, fact.objective);
    RankValue(trial);
    const bool passes =
        spec_.pruner.kind == PrunerKind::kAsha && spec_.pruner.asha_form == AshaForm::kStopping;
    if (passes && !trial.ended() && !RungOf(trial)->top->Has(trial.number)) PassRungs(trial, fact.resource);
  }
  if (!trial.live || fact.attempt != trial.attempts) return;
  if (trial.attempt_first.first == 0) trial.attempt_first = {fact.resource, time_us};
  if (fact.resource > trial.attempt_last.first) trial.attempt_last = {fact.resource, time_us};
  const int64_t level = trial.to > 0 ? std::min(fact.resource, trial.to) : fact.resource;
  if (level <= trial.attempt_reached) return;
  // An attempt whose first report is beyond all that is known went on from a checkpoint beyond `from`.
  const bool beyond = spec_.resumes && level > newest;
  const int64_t begun = beyond ? std::max(trial.attempt_reached, newest) : trial.attempt_reached;
  if (trial.to > 0) totals_.reserved_resource -= level - trial.attempt_reached;
  trial.attempt_reached = level;
  trial.trained_resource += level - begun;
  totals_.resource += level - begun;
}

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
}

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
  NoteStartup(trial, fact.started_us, took);
  if (fact.outcome == AttemptOutcome::kFailed) ++trial.failures;
  if (fact.outcome == AttemptOutcome::kLost) ++trial.losses;
  // An earlier attempt may have reported levels that this one found in its checkpoint.
  int64_t level = trial.attempt_reached;
  if (!trial.curve.empty()) level = std::max(level, trial.curve.back().first);
  if (trial.to > 0) level = std::min(level, trial.to);
  if (fact.outcome == AttemptOutcome::kFinished) {
    const int64_t own_end = spec_.OwnEnd(trial.configuration);
    trial.at_own_end = level < trial.to || (own_end > 0 && level >= own_end);
    if (spec_.resumes) trial.checkpoint = level;
    identical_curves_.OnPart(spec_, trial.number, trial.configuration, trial.curve);
  } else if (fact.outcome == AttemptOutcome::kHandedBack && spec_.resumes) {
    trial.checkpoint = std::max(trial.checkpoint, trial.attempt_reached);
  }
}

void JobState::NoteStartup(const TrialState& trial, int64_t started_us, int64_t took_us) {
  if (started_us == 0) return;
  const auto& [first, first_us] = trial.attempt_first;
  const auto& [last, last_us] = trial.attempt_last;
  if (first == 0) {
    startup_.AddSilent(took_us);
  } else {
    startup_.Add({first_us - started_us, first - trial.attempt_from, last_us - first_us, last - first});
  }
}

void JobState::On(const CheckpointLost& fact, int64_t) { At(fact.trial).checkpoint = 0; }

void JobState::On(const StopRequested& fact, int64_t) {
  if (ended_ || stop_requested_) return;
  stop_requested_ = true;
  stop_reason_ = fact.reason;
}

void JobState::On(const TimeLimitReached& fact, int64_t) {
  if (!time_limit_) time_limit_ = fact.limit;
}

void JobState::On(const PriorObserved& fact, int64_t) { priors_.push_back(fact); }

bool JobState::noticed(NoticeKind kind) const {
  return std::any_of(notices_.begin(), notices_.end(),
                     [kind](const auto& notice) { return notice.first.kind == kind; });
}

void JobState::On(const Noticed& fact, int64_t time_us) { notices_.emplace_back(fact, time_us); }

void JobState::On(const Suggested& fact, int64_t) {
  suggestion_ = fact;
  if (!fact.model.empty()) model_ = fact.model;
  const bool goes_on = fact.trial > 0 && fact.configuration.empty();
  if (fact.to == 0) return;
  suggested_units_[static_cast<size_t>(fact.rule)] += fact.to - (goes_on ? At(fact.trial).checkpoint : 0);
  ++suggested_parts_[static_cast<size_t>(fact.rule)];
}

void JobState::On(const TrialCreated& fact, int64_t time_us) {
  TrialState trial;
  trial.number = fact.trial;
  trial.configuration = fact.configuration;
  trial.nodes = spec_.Nodes(fact.configuration);
  trial.bracket = fact.bracket;
  trial.rung = fact.rung;
  trial.to = fact.to;
  trial.created_us = time_us;
  trials_.push_back(std::move(trial));
  ++totals_.pending;
  pending_.insert(PlaceInQueue(trials_.back()));
  if (space_.size() > 0) tried_.insert(fact.configuration);
  suggestion_.reset();
  if (fact.bracket < 0) return;
  if (fact.bracket == static_cast<int64_t>(brackets_.size())) {
    BracketState bracket{table_.bracket(fact.bracket), {}};
    for (const RungPlan& rung : bracket.plan.rungs) {
      bracket.rungs.emplace_back();
      bracket.rungs.back().resource = rung.resource;
    }
    brackets_.push_back(std::move(bracket));
  }
  brackets_[fact.bracket].rungs[fact.rung].entered.push_back(fact.trial);
}

void JobState::On(const TrialResumed& fact, int64_t) {
  TrialState& trial = At(fact.trial);
  if (trial.phase == TrialPhase::kPaused && RungOf(trial)->cut) --undecided_;
  if (suggestion_ && suggestion_->trial == fact.trial) suggestion_.reset();
  trial.to = fact.to;
  if (fact.rung > trial.rung) {
    if (RungOf(trial)->top) RungOf(trial)->top->Take(trial.number);
    trial.rung = fact.rung;
    RungOf(trial)->entered.push_back(trial.number);
  }
  SetPhase(trial, TrialPhase::kPending);
}

void JobState::On(const TrialPaused& fact, int64_t) {
  TrialState& trial = At(fact.trial);
  SetPhase(trial, TrialPhase::kPaused);
  RungState& rung = *RungOf(trial);
  if (rung.top) {
    ArriveAt(rung, trial, rung.resource);
  } else {
    ++rung.arrived;
  }
}

void JobState::On(const TrialEnded& fact, int64_t time_us) {
  TrialState& trial = At(fact.trial);
  const TrialPhase phase = fact.end == TrialEnd::kCompleted ? TrialPhase::kCompleted
                           : fact.end == TrialEnd::kStopped ? PhaseOfStopped(trial)
                                                            : TrialPhase::kFailed;
  RungState* rung = RungOf(trial);
  const bool arrived =
      trial.phase == TrialPhase::kPaused || (rung != nullptr && rung->top && rung->top->Has(trial.number));
  if (rung != nullptr && !arrived) {
    if (rung->top && fact.end == TrialEnd::kCompleted) {
      ArriveAt(*rung, trial, rung->resource);
    } else {
      ++rung->arrived;
    }
  }
  if (trial.phase == TrialPhase::kPaused && rung->cut) --undecided_;
  if (rung != nullptr && rung->top) rung->top->Take(trial.number);
  if (suggestion_ && suggestion_->trial == fact.trial) suggestion_.reset();
  SetPhase(trial, phase);
  const bool goes_before = fact.end == TrialEnd::kCompleted && spec_.objective_value != ObjectiveValue::kBest;
  if (goes_before || fact.end == TrialEnd::kFailed) Offer(trial);
  if (fact.end == TrialEnd::kFailed) {
    // What ended without a value shows its last line, which differs from trial to trial: all are one failure.
    const bool without_value = trial.failures == 0 && !FailedByMachines(trial);
    if (without_value && without_value_.empty()) without_value_ = fact.reason;
    const std::string& reason = without_value ? without_value_ : fact.reason;
    FailureCount& same = failures_[reason];
    same.first = ++same.trials == 1 ? fact.trial : std::min(same.first, fact.trial);
    if (!FailedByMachines(trial)) first_failures_.OnFailure(reason, static_cast<int64_t>(trials_.size()));
  }
  trial.reason = fact.reason;
  trial.ended_us = time_us;
  const bool has_value = spec_.objective_value == ObjectiveValue::kBest ? fact.end != TrialEnd::kFailed
                                                                       : fact.end == TrialEnd::kCompleted;
  const bool counts = has_value && trial.value_resource > 0;
  const double key = spec_.goal == Goal::kMaximize ? -trial.value : trial.value;
  completion_index_.Add(counts ? std::make_optional(key) : std::nullopt);
  if (fact.end != TrialEnd::kCompleted || spec_.pruner.kind != PrunerKind::kMedian) return;
  MedianIndex::Curve curve = trial.curve;
  for (auto& [resource, value] : curve) value = spec_.goal == Goal::kMaximize ? -value : value;
  completed_averages_.Add(trial.number, curve);
}

void JobState::On(const RungCut& fact, int64_t) {
  RungState& rung = brackets_[fact.bracket].rungs[fact.rung];
  rung.cut = true;
  rung.promoted = fact.promoted;
  rung.cutoff = fact.cutoff;
  for (TrialNumber number : rung.entered) {
    const TrialState& trial = At(number);
    if (trial.rung == fact.rung && trial.phase == TrialPhase::kPaused) ++undecided_;
  }
}

void JobState::On(const BracketEnded& fact, int64_t) { brackets_[fact.bracket].ended = true; }

void JobState::On(const CompletionMet& fact, int64_t) { completion_met_ = fact; }

void JobState::On(const JobEnded& fact, int64_t) { ended_ = fact; }

}  // namespace winnow
