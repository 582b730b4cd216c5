#include "scheduler/state/contradiction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>

namespace winnow {
namespace {

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
    if (f.metric < 0 || f.metric >= static_cast<int64_t>(state.metrics().size()))
      return "there is no such metric";
    return f.resource >= 1 ? "" : "resource levels begin at 1";
  }
  std::string operator()(const AttemptStarted& f) const {
    if (std::string why = NotIn(f.trial, {TrialPhase::kPending}, "pending"); !why.empty()) return why;
    if (f.attempt != state.trial(f.trial).attempts + 1) return "the attempt is not the trial's next";
    if (f.pools.size() != f.prices.size()) return "the ranks have not one price each";
    if (std::any_of(f.prices.begin(), f.prices.end(), [](double price) { return !(price >= 0); }))
      return "a rank's price is no amount of money";
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
  std::string operator()(const CheckpointTaken& f) const {
    if (std::string why = Unknown(f.trial); !why.empty()) return why;
    return state.trial(f.trial).has_to_take ? "" : "the trial has no other's checkpoint to take";
  }
  std::string operator()(const StopRequested&) const { return ""; }
  std::string operator()(const TimeLimitReached&) const { return ""; }
  std::string Closing() const { return state.closing() ? "the job is being closed" : ""; }
  std::string operator()(const JobPaused&) const {
    return state.paused() ? "the job is paused already" : Closing();
  }
  std::string operator()(const JobResumed&) const {
    return state.paused() ? Closing() : "the job is not paused";
  }
  std::string operator()(const JobContinued&) const { return state.ended() ? "" : "the job has not ended"; }
  std::string operator()(const LimitsChanged& f) const {
    const bool sound = f.max_trials >= 0 && f.max_parallel_trials >= 0 && f.max_total_resource >= 0 &&
                       f.max_wall_time_us >= 0 && f.max_node_time_us >= 0 && f.max_cost >= 0;
    return sound ? Closing() : "a limit is below 0";
  }
  std::string operator()(const TrialStopRequested& f) const {
    if (std::string why = Unknown(f.trial); !why.empty()) return why;
    return state.trial(f.trial).ended() ? "the trial has already ended" : Closing();
  }
  std::string operator()(const TrialKept& f) const {
    if (std::string why = Unknown(f.trial); !why.empty()) return why;
    if (state.trial(f.trial).ended()) return "the trial has already ended";
    if (state.trial(f.trial).kept != f.released)
      return f.released ? "the trial is not kept" : "the trial is kept already";
    return Closing();
  }
  std::string operator()(const ConfigurationEnqueued& f) const {
    return f.configuration.size() == state.spec().parameters.size() ? Closing()
                                                                    : "the configuration has another length";
  }
  std::string operator()(const SchedulingChanged& f) const {
    return f.weight > 0 && std::isfinite(f.weight) ? Closing() : "the weight is not above 0";
  }
  std::string operator()(const RangeChanged& f) const {
    if (state.grid() != nullptr) return "the job tries every point of its grid";
    return ChangedRange(state.spec(), f) ? Closing() : "it is no range of the parameter's kind";
  }
  std::string operator()(const EarlierResult& f) const {
    if (!state.trials().empty()) return "earlier results come before the first trial";
    return f.configuration.size() == state.spec().parameters.size() ? ""
                                                                    : "the configuration has another length";
  }
  std::string operator()(const Noticed& f) const {
    if (std::string why = Unknown(f.trial); !why.empty()) return why;
    if (static_cast<int64_t>(f.kind) < 1 || static_cast<int64_t>(f.kind) > kMostNoticeKind)
      return "there is no such kind";
    return state.noticed(f.kind) ? "that was noticed already" : "";
  }
  std::string operator()(const Suggested& f) const {
    if (f.based_on < 0 || f.based_on > state.last_sequence()) return "it is based on a later fact";
    if (static_cast<size_t>(f.rule) >= kSuggestionRules) return "there is no such rule";
    if (f.configuration.empty()) return f.trial == 0 ? "" : NotIn(f.trial, {TrialPhase::kPaused}, "paused");
    if (f.configuration.size() != state.spec().parameters.size())
      return "the configuration has another length";
    return f.trial == static_cast<int64_t>(state.trials().size()) + 1 ? "" : "the number is not the next";
  }
  std::string operator()(const TrialCreated& f) const {
    if (f.trial != static_cast<int64_t>(state.trials().size()) + 1) return "the number is not the next";
    if (f.configuration.size() != state.spec().parameters.size())
      return "the configuration has another length";
    if (f.origin != 0) return NoHeir(f);
    if (f.bracket < 0) return "";
    const auto opened = static_cast<int64_t>(state.brackets().size());
    const int64_t planned = state.table().empty() ? opened : state.table().bracket_count();
    if (f.bracket > opened || (planned >= 0 && f.bracket >= planned)) return "there is no such bracket";
    if (f.rung == 0) return "";
    const bool open = HasOpenRungs(state.spec().pruner.kind) &&
                      f.rung < static_cast<int64_t>(state.brackets()[f.bracket].rungs.size());
    return open ? "" : "a new trial enters rung 0";
  }
  // Why a trial cannot go on from the checkpoint of its origin; "" if it can.
  std::string NoHeir(const TrialCreated& f) const {
    if (std::string why = NotIn(f.origin, {TrialPhase::kPaused}, "paused"); !why.empty()) return why;
    if (state.closing()) return "the job is being closed";
    const TrialState& origin = state.trial(f.origin);
    const bool next = f.bracket == origin.bracket && f.rung == origin.rung + 1 &&
                      f.rung < static_cast<int64_t>(state.brackets()[f.bracket].rungs.size());
    return next ? "" : "it does not enter the rung above its origin's";
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
    if (!f.reference.empty() && f.reference.size() != state.spec().objectives.size())
      return "the reference point has another length";
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

}  // namespace

std::string ContradictionOf(const JobState& state, const FactBody& fact) {
  return std::visit(Checker{state}, fact);
}

}  // namespace winnow
