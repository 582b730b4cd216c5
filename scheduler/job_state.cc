#include "scheduler/job_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "scheduler/samplers/grid.h"

namespace winnow {
namespace {

// Ends the process with the reason on standard error: an exception that leaves a noexcept function does, and
// needs no stream here.
[[noreturn]] void Raise(const std::string& why) { throw std::logic_error(why); }
[[noreturn]] void Broken(const Fact& fact, const std::string& why) noexcept {
  Raise("fact " + std::to_string(fact.sequence) + " (" + Describe(fact.body) +
        ") contradicts its job's state: " + why);
}

struct Checker {
  const JobState& state;

  std::string Unknown(TrialNumber number) const {
    if (number >= 1 && number <= static_cast<int64_t>(state.trials().size())) return "";
    return "there is no trial " + std::to_string(number);
  }
  std::string NotIn(TrialNumber number, std::initializer_list<TrialPhase> phases,
                    const char* expected) const {
    if (std::string why = Unknown(number); !why.empty()) return why;
    const TrialPhase phase = state.trial(number).phase;
    if (std::find(phases.begin(), phases.end(), phase) != phases.end()) return "";
    return "the trial is not " + std::string(expected);
  }

  std::string operator()(const Reported& f) const {
    if (std::string why = Unknown(f.trial); !why.empty()) return why;
    if (f.attempt < 1 || f.attempt > state.trial(f.trial).attempts) return "there is no such attempt";
    return f.resource >= 1 ? "" : "resource levels begin at 1";
  }
  std::string operator()(const AttemptStarted& f) const {
    if (std::string why = NotIn(f.trial, {TrialPhase::kPending}, "pending"); !why.empty()) return why;
    if (f.attempt != state.trial(f.trial).attempts + 1) return "the attempt is not the trial's next";
    return f.from >= 0 && (f.to == 0 || f.to >= f.from) ? "" : "the resource levels are upside down";
  }
  std::string operator()(const AttemptEnded& f) const {
    if (std::string why = Unknown(f.trial); !why.empty()) return why;
    const TrialState& trial = state.trial(f.trial);
    return trial.live && f.attempt == trial.attempts ? "" : "the attempt is not running";
  }
  std::string operator()(const CheckpointLost& f) const {
    return NotIn(f.trial, {TrialPhase::kPending}, "pending");
  }
  std::string operator()(const StopRequested&) const { return ""; }
  std::string operator()(const TimeLimitReached&) const { return ""; }
  std::string operator()(const PriorObserved& f) const {
    if (!state.trials().empty()) return "priors come before the first trial";
    return f.configuration.size() == state.spec().parameters.size() ? ""
                                                                    : "the configuration has another length";
  }
  std::string operator()(const Suggested& f) const {
    if (f.based_on < 0 || f.based_on > state.last_sequence()) return "it is based on a later fact";
    if (f.configuration.empty()) return f.trial == 0 ? "" : NotIn(f.trial, {TrialPhase::kPaused}, "paused");
    if (f.configuration.size() != state.spec().parameters.size())
      return "the configuration has another length";
    return f.trial == static_cast<int64_t>(state.trials().size()) + 1 ? "" : "the number is not the next";
  }
  std::string operator()(const TrialCreated& f) const {
    if (f.trial != static_cast<int64_t>(state.trials().size()) + 1) return "the number is not the next";
    if (f.configuration.size() != state.spec().parameters.size())
      return "the configuration has another length";
    if (f.bracket < 0) return "";
    const auto opened = static_cast<int64_t>(state.brackets().size());
    const int64_t planned = state.table().empty() ? opened : state.table().bracket_count();
    if (f.bracket > opened || (planned >= 0 && f.bracket >= planned)) return "there is no such bracket";
    return f.rung == 0 ? "" : "a new trial enters rung 0";
  }
  std::string operator()(const TrialResumed& f) const {
    if (std::string why = NotIn(f.trial, {TrialPhase::kRunning, TrialPhase::kPaused}, "running or paused");
        !why.empty()) {
      return why;
    }
    const TrialState& trial = state.trial(f.trial);
    if (trial.live) return "its attempt is still running";
    const int64_t rungs =
        trial.bracket < 0 ? 1 : static_cast<int64_t>(state.brackets()[trial.bracket].rungs.size());
    return f.rung >= trial.rung && f.rung < rungs ? "" : "there is no such rung above it";
  }
  std::string operator()(const TrialPaused& f) const {
    if (std::string why = NotIn(f.trial, {TrialPhase::kRunning, TrialPhase::kPending}, "running or pending");
        !why.empty()) {
      return why;
    }
    return state.trial(f.trial).bracket >= 0 ? "" : "it is in no bracket";
  }
  std::string operator()(const TrialEnded& f) const {
    if (std::string why = Unknown(f.trial); !why.empty()) return why;
    return state.trial(f.trial).ended() ? "the trial has already ended" : "";
  }
  std::string operator()(const RungCut& f) const {
    if (f.bracket < 0 || f.bracket >= static_cast<int64_t>(state.brackets().size())) return "no such bracket";
    const auto& rungs = state.brackets()[f.bracket].rungs;
    if (f.rung < 0 || f.rung >= static_cast<int64_t>(rungs.size())) return "no such rung";
    if (rungs[f.rung].cut) return "the rung is already cut";
    for (TrialNumber number : f.ranking) {
      if (std::string why = Unknown(number); !why.empty()) return why;
    }
    return f.promoted >= 0 && f.promoted <= static_cast<int64_t>(f.ranking.size()) ? ""
                                                                                   : "it promotes too many";
  }
  std::string operator()(const BracketEnded& f) const {
    if (f.bracket < 0 || f.bracket >= static_cast<int64_t>(state.brackets().size())) return "no such bracket";
    return state.brackets()[f.bracket].ended ? "the bracket has already ended" : "";
  }
  std::string operator()(const CompletionMet&) const {
    return state.completion_met() ? "the job is complete already" : "";
  }
  std::string operator()(const JobEnded&) const { return ""; }
};

// The least of those that are not 0.
int64_t Least(std::initializer_list<int64_t> limits) {
  int64_t least = 0;
  for (int64_t limit : limits) least = least == 0 ? limit : limit == 0 ? least : std::min(least, limit);
  return least;
}

int64_t TrialLimit(const SearchSpec& spec, const SearchSpace& space) {
  const int64_t grid = spec.sampler.kind == SamplerKind::kGrid ? GridSize(spec, space) : 0;
  return Least({spec.limits.max_trials, space.size(), grid});
}

}  // namespace

std::optional<double> TrialState::value_at(int64_t resource) const {
  const auto after = std::upper_bound(curve.begin(), curve.end(), resource,
                                      [](int64_t level, const auto& point) { return level < point.first; });
  if (after == curve.begin()) return std::nullopt;
  return std::prev(after)->second;
}

JobState::JobState(SearchSpec spec)
    : spec_(std::move(spec)), space_(spec_.parameters, spec_.constraints), most_trials_(TrialLimit(spec_, space_)) {
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

std::string JobState::Contradiction(const Fact& fact) const {
  if (fact.sequence != last_sequence_ + 1) {
    return "its number should be " + std::to_string(last_sequence_ + 1);
  }
  if (ended_ && !std::holds_alternative<StopRequested>(fact.body)) return "the job has already ended";
  return std::visit(Checker{*this}, fact.body);
}

void JobState::Apply(const Fact& fact) {
  if (const std::string why = Contradiction(fact); !why.empty()) Broken(fact, why);
  last_sequence_ = fact.sequence;
  std::visit([this, &fact](const auto& body) { On(body, fact.time_us); }, fact.body);
}

std::optional<TrialNumber> JobState::best_trial() const {
  if (by_objective_.empty()) return std::nullopt;
  return by_objective_.begin()->second;
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
    case TrialPhase::kStopped:
      return totals_.stopped;
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

// REQUIRES an open rung.
void JobState::ArriveAt(RungState& rung, const TrialState& trial) {
  const double value = trial.value_at(rung.resource).value_or(std::numeric_limits<double>::quiet_NaN());
  rung.top->Add(spec_.goal == Goal::kMaximize ? -value : value, trial.number);
}

// A trial that is not paused at its rungs has reported a level: it arrives at every rung up to there.
void JobState::PassRungs(TrialState& trial, int64_t resource) {
  std::vector<RungState>& rungs = brackets_[trial.bracket].rungs;
  while (trial.rung + 1 < static_cast<int64_t>(rungs.size()) && rungs[trial.rung].resource <= resource) {
    ++rungs[trial.rung].arrived;
    ArriveAt(rungs[trial.rung], trial);
    rungs[++trial.rung].entered.push_back(trial.number);
  }
}

void JobState::RankBest(TrialState& trial, int64_t resource, double objective) {
  if (!std::isfinite(objective)) return;
  const auto key = [this](double value) { return spec_.goal == Goal::kMaximize ? -value : value; };
  if (trial.best_resource > 0) {
    // Reports need not come in the order of their levels.
    const auto known = std::make_pair(key(trial.best_objective), trial.best_resource);
    if (std::make_pair(key(objective), resource) > known) return;
    by_objective_.erase({known.first, trial.number});
  }
  trial.best_resource = resource;
  trial.best_objective = objective;
  if (trial.phase != TrialPhase::kFailed) by_objective_.emplace(key(objective), trial.number);
}

void JobState::On(const Reported& fact, int64_t) {
  TrialState& trial = At(fact.trial);
  const int64_t newest = trial.curve.empty() ? 0 : trial.curve.back().first;
  const auto place = std::lower_bound(trial.curve.begin(), trial.curve.end(), fact.resource,
                                      [](const auto& point, int64_t level) { return point.first < level; });
  if (place == trial.curve.end() || place->first != fact.resource) {
    trial.curve.emplace(place, fact.resource, fact.objective);
    RankBest(trial, fact.resource, fact.objective);
    const bool passes = spec_.pruner.kind == PrunerKind::kAsha && spec_.pruner.asha_form == AshaForm::kStopping;
    if (passes && !trial.ended()) PassRungs(trial, fact.resource);
  }
  if (!trial.live || fact.attempt != trial.attempts) return;
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
  if (trial.attempts == 1) trial.started_us = time_us;
  ++totals_.live_attempts;
  if (fact.to > 0) totals_.reserved_resource += fact.to - fact.from;
}

void JobState::On(const AttemptEnded& fact, int64_t) {
  TrialState& trial = At(fact.trial);
  trial.live = false;
  --totals_.live_attempts;
  if (suggestion_ && suggestion_->trial == 0) suggestion_.reset();  // it may say more now
  if (trial.to > 0) totals_.reserved_resource -= trial.to - trial.attempt_reached;
  const int64_t took = fact.started_us > 0 ? std::max<int64_t>(0, fact.ended_us - fact.started_us) : 0;
  trial.training_us += took;
  totals_.training_us += took;
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
  } else if (fact.outcome == AttemptOutcome::kHandedBack && spec_.resumes) {
    trial.checkpoint = std::max(trial.checkpoint, trial.attempt_reached);
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

void JobState::On(const Suggested& fact, int64_t) { suggestion_ = fact; }

void JobState::On(const TrialCreated& fact, int64_t time_us) {
  TrialState trial;
  trial.number = fact.trial;
  trial.configuration = fact.configuration;
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
  brackets_[fact.bracket].rungs[0].entered.push_back(fact.trial);
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
  ++RungOf(trial)->arrived;
  if (RungOf(trial)->top) ArriveAt(*RungOf(trial), trial);
}

void JobState::On(const TrialEnded& fact, int64_t time_us) {
  TrialState& trial = At(fact.trial);
  RungState* rung = RungOf(trial);
  if (rung != nullptr && trial.phase != TrialPhase::kPaused) {
    ++rung->arrived;
    if (rung->top && fact.end == TrialEnd::kCompleted) ArriveAt(*rung, trial);
  }
  if (trial.phase == TrialPhase::kPaused && rung->cut) --undecided_;
  if (rung != nullptr && rung->top) rung->top->Take(trial.number);
  if (suggestion_ && suggestion_->trial == fact.trial) suggestion_.reset();
  SetPhase(trial, fact.end == TrialEnd::kCompleted ? TrialPhase::kCompleted
                  : fact.end == TrialEnd::kStopped ? TrialPhase::kStopped
                                                   : TrialPhase::kFailed);
  if (fact.end == TrialEnd::kFailed && trial.best_resource > 0) {
    const double best = trial.best_objective;
    by_objective_.erase({spec_.goal == Goal::kMaximize ? -best : best, trial.number});
  }
  trial.reason = fact.reason;
  trial.ended_us = time_us;
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
