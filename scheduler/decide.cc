#include "scheduler/decide.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/mutant.h"
#include "scheduler/completion.h"
#include "scheduler/pruners/kept.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/samplers/sampler.h"
#include "scheduler/space/grid.h"
#include "scheduler/space/space.h"
#include "scheduler/state/budget.h"
#include "scheduler/suggest.h"

namespace winnow {
namespace {

struct NextTrial {
  Suggestion suggestion;
  Opening opening;
};

// The trial that would be created next, whether or not the resource left suffices for it. Absent: none may
// be, or a model has to be asked first.
std::optional<NextTrial> Next(const JobState& state) {
  if (state.ended() || state.closing() || !state.may_create()) return std::nullopt;
  if (const auto opening = OpeningOfQueued(state)) {
    const ConfigurationEnqueued& first = state.queue().front();
    return NextTrial{{first.configuration, "Enqueued" + ByAndWhy(first.by, first.why)}, *opening};
  }
  std::optional<Suggestion> suggestion;
  if (const auto& answer = state.suggestion()) {
    if (answer->configuration.empty()) return std::nullopt;
    suggestion = Suggestion{answer->configuration, answer->why};
  } else {
    suggestion = SamplerOf(state.spec()).Next(state);
  }
  if (!suggestion) return std::nullopt;
  const auto opening = PrunerOf(state.spec()).Open(state, suggestion->configuration);
  if (!opening) return std::nullopt;
  return NextTrial{std::move(*suggestion), *opening};
}

const char* NameOf(TimeLimit limit) {
  if (limit == TimeLimit::kWall) return "max_wall_time";
  return limit == TimeLimit::kNode ? "max_node_seconds" : "max_cost";
}

std::string StopReason(const JobState& state) {
  if (!state.stop_requested()) {
    if (state.completion_met()) return state.completion_met()->reason;
    return std::string(NameOf(*state.time_limit())) + " was reached.";
  }
  if (state.stopped_as_failed()) return state.stop_reason();
  return state.stop_reason().empty() ? "The job was stopped." : "The job was stopped: " + state.stop_reason();
}

std::vector<Decision> EndAll(const JobState& state) {
  const std::string reason = StopReason(state);
  const bool explain = state.completion_met() && state.completion_met()->nothing_left;
  std::vector<Decision> decisions;
  for (const TrialState& trial : state.trials()) {
    if (trial.ended()) continue;
    const bool kept = explain && trial.kept && trial.phase == TrialPhase::kPaused;
    const std::string own = kept      ? EndOfKept(state, trial)
                            : explain ? PrunerOf(state.spec()).EndOfPaused(state, trial)
                                      : "";
    decisions.push_back(TrialEnded{trial.number, TrialEnd::kStopped, own.empty() ? reason : own});
  }
  return decisions;
}

// The paused trial that goes on before a new one is started.
std::optional<TrialResumed> PromotionOf(const JobState& state) {
  if (state.ended() || state.closing()) return std::nullopt;
  auto promotion = PrunerOf(state.spec()).Promote(state);
  return promotion ? promotion : KeptOnward(state);
}

int64_t UnitsOf(const JobState& state, const TrialResumed& promotion) {
  return promotion.to - state.trial(promotion.trial).checkpoint;
}

std::string EndedText(size_t trials) {
  return trials == 1 ? "Its only trial has ended." : "All " + std::to_string(trials) + " trials have ended.";
}

std::string AllEnded(const JobState& state) {
  const size_t count = state.trials().size();
  if (state.exhausted()) {
    return count == 1
               ? "The space is exhausted: its one configuration was tried."
               : "The space is exhausted: all " + std::to_string(count) + " configurations were tried.";
  }
  if (state.grid() && static_cast<int64_t>(count) >= GridTrials(state.spec(), *state.grid())) {
    return "The grid's " + std::to_string(state.grid()->size()) + " points were tried.";
  }
  if (const auto& answer = state.suggestion(); answer && answer->trial == 0) return answer->why;
  return EndedText(count);
}

Decision Retry(const TrialState& trial, const std::string& reason) {
  return TrialResumed{trial.number, trial.rung, trial.to, reason};
}

Decision AfterFailure(const JobState& state, const TrialState& trial, const std::string& reason) {
  const int64_t most = state.spec().limits.max_attempts;
  if (trial.failures < most) {
    return Retry(trial, "Failed " + std::to_string(trial.failures) + " of at most " + std::to_string(most) +
                            " times; tried again: " + reason);
  }
  std::string text = reason.empty() ? "The trainer failed." : reason;
  if (most > 1) text = "Failed " + std::to_string(trial.failures) + " times, at last: " + text;
  return TrialEnded{trial.number, TrialEnd::kFailed, text};
}

// The first objective's metric of which the trial has no value; "": it has one of each.
std::string WithoutValue(const JobState& state, const TrialState& trial) {
  for (size_t i = 0; i < state.spec().objective_count(); ++i) {
    if (trial.curve_of(static_cast<int64_t>(i)).empty()) return state.metrics()[i];
  }
  return "";
}

Decision AfterAttempt(const JobState& state, const AttemptEnded& ended) {
  const TrialState& trial = state.trial(ended.trial);
  const std::string from = state.spec().repeats > 0 ? "the start of the repeat"
                           : state.spec().resumes   ? "its newest checkpoint"
                                                    : "the start";
  switch (ended.outcome) {
    case AttemptOutcome::kFinished: {
      const std::string missing = WithoutValue(state, trial);
      if (missing.empty()) return PrunerOf(state.spec()).PartFinished(state, trial);
      return TrialEnded{trial.number, TrialEnd::kFailed,
                        ended.reason.empty() ? "It ended without a value of " + missing + "." : ended.reason};
    }
    case AttemptOutcome::kFailed:
      return AfterFailure(state, trial, ended.reason);
    case AttemptOutcome::kLost:
      if (trial.losses >= state.spec().limits.max_lost_attempts) {
        return TrialEnded{
            trial.number, TrialEnd::kFailed,
            "Lost to the machines " + std::to_string(trial.losses) + " times, at last: " + ended.reason};
      }
      return Retry(trial, "Lost to the machines; goes on from " + from + ": " + ended.reason);
    case AttemptOutcome::kHandedBack:
      return Retry(trial, "Handed back by its worker; goes on from " + from +
                              (ended.reason.empty() ? "." : ": " + ended.reason));
    case AttemptOutcome::kStopped:
      break;
  }
  return Retry(trial, "Its attempt was stopped; goes on from " + from + ".");
}

// The end of a trial that has reported a value of an objective that is not finite: what diverged does not
// come back, so that it fails at once under every strategy, also while it runs.
std::optional<TrialEnded> Diverged(const JobState& state, const Reported& report) {
  const TrialState& trial = state.trial(report.trial);
  const bool of_objective = report.metric < static_cast<int64_t>(state.spec().objective_count());
  if (std::isfinite(report.objective) || trial.ended() || !of_objective) return std::nullopt;
  return TrialEnded{trial.number, TrialEnd::kFailed,
                    "Diverged: " + state.metrics()[report.metric] + " was " +
                        DoubleToString(report.objective) + " at resource " + std::to_string(report.resource) +
                        "."};
}

bool IsAllEnded(const JobState& state, const std::string& why) {
  return !state.trials().empty() && why == EndedText(state.trials().size());
}

// Why a job that has no finite value of its objective has failed.
std::string NoValue(const JobState& state) {
  std::string metric = "a finite " + state.spec().objective_metric;
  if (state.spec().has_several_objectives()) metric = "finite values of all objectives";
  const size_t count = state.trials().size();
  const auto failed = std::find_if(state.trials().begin(), state.trials().end(), [](const TrialState& trial) {
    return trial.phase == TrialPhase::kFailed;
  });
  if (failed == state.trials().end()) {
    return count == 1 ? "Its only trial did not report " + metric + "." : "No trial reported " + metric + ".";
  }
  if (count == 1) return "Its only trial failed: " + failed->reason;
  const int64_t failures = state.totals().failed;
  const std::string first = " Trial " + std::to_string(failed->number) + ": " + failed->reason;
  if (failures == static_cast<int64_t>(count))
    return "All " + std::to_string(count) + " trials failed." + first;
  return std::to_string(failures) + " of " + std::to_string(count) +
         " trials failed, and no other reported " + metric + "." + first;
}

JobEnded EndOfJob(const JobState& state, const std::string& why) {
  if (state.stop_requested()) return {state.stopped_as_failed() ? JobEnd::kFailed : JobEnd::kStopped, why};
  if (state.any_finite_objective()) return {JobEnd::kCompleted, why};
  // A rule that was met by failures alone has said what follows here.
  const bool said =
      state.completion_met() && !state.completion_met()->nothing_left && state.failures().awaited() > 0;
  if (said) return {JobEnd::kFailed, why};
  return {JobEnd::kFailed, (IsAllEnded(state, why) ? "" : why + " ") + NoValue(state)};
}

// What ends the job or its last waiting trials, when nothing can run any more.
std::vector<Decision> Close(const JobState& state) {
  const JobTotals& totals = state.totals();
  if (totals.live_attempts > 0 || totals.pending > 0 || totals.running > 0 || state.undecided() > 0)
    return {};
  if (state.closing()) {
    if (totals.paused > 0) return {};
    return {EndOfJob(state, StopReason(state))};
  }
  if (state.paused() || WantsSuggestion(state)) return {};
  const auto promotion = PromotionOf(state);
  if (promotion && PaysEver(state, UnitsOf(state, *promotion))) return {};
  const auto next = Next(state);
  if (next && PaysEver(state, next->opening.to)) return {};
  if (LastKeptOnward(state)) return {};
  const std::string spent = next || promotion || !state.kept().empty() ? SpentReason(state) : "";
  const std::string why = spent.empty() ? AllEnded(state) : spent;
  if (totals.paused > 0) return {CompletionMet{why, true}};
  return {EndOfJob(state, why)};
}

}  // namespace

std::vector<Decision> Decide(const JobState& state, const Fact& newest) {
  // The limits of a job that is continued follow; before them nothing is known to be left to do.
  if (state.ended() || std::holds_alternative<Noticed>(newest.body) ||
      std::holds_alternative<JobContinued>(newest.body)) {
    return {};
  }
  std::vector<Decision> decisions;
  if (const auto* ended = std::get_if<AttemptEnded>(&newest.body)) {
    if (!state.trial(ended->trial).ended()) return {AfterAttempt(state, *ended)};
  } else if (std::holds_alternative<StopRequested>(newest.body) ||
             std::holds_alternative<TimeLimitReached>(newest.body) ||
             std::holds_alternative<CompletionMet>(newest.body)) {
    decisions = EndAll(state);
  } else if (const auto* stop = std::get_if<TrialStopRequested>(&newest.body)) {
    return {TrialEnded{stop->trial, TrialEnd::kStopped, "Stopped" + ByAndWhy(stop->by, stop->why)}};
  } else if (const auto* kept = std::get_if<TrialKept>(&newest.body); kept && AfterRelease(state, *kept)) {
    return {*AfterRelease(state, *kept)};
  } else if (const auto* report = std::get_if<Reported>(&newest.body); report && Diverged(state, *report)) {
    return {*Diverged(state, *report)};
  } else if (auto met = CompletionOf(state, newest.body)) {
    return {*std::move(met)};
  } else {
    decisions = PrunerOf(state.spec()).Follow(state, newest.body);
  }
  return decisions.empty() ? Close(state) : decisions;
}

bool IsMoot(const JobState& state, const FactBody& decision) {
  return (state.closing() || state.ended()) &&
         !state.Contradiction({state.last_sequence() + 1, 0, decision}).empty();
}

std::vector<Fact> Advance(JobState& state, int64_t time_us, FactBody body) {
  std::vector<Fact> recorded;
  std::vector<FactBody> waiting = {std::move(body)};  // the next one last
  while (!waiting.empty()) {
    Fact fact{state.last_sequence() + 1, time_us, std::move(waiting.back())};
    waiting.pop_back();
    if (!recorded.empty() && IsMoot(state, fact.body)) continue;
    state.Apply(fact);
    const std::vector<Decision> decisions = Decide(state, fact);
    for (auto d = decisions.rbegin(); d != decisions.rend(); ++d) waiting.push_back(ToBody(*d));
    recorded.push_back(std::move(fact));
  }
  return recorded;
}

std::optional<Admission> Admit(const JobState& state, const std::set<TrialNumber>& passed) {
  const Limits& limits = state.spec().limits;
  if (state.ended() || state.closing()) return std::nullopt;
  if (state.paused() && !WINNOW_MUTANT("a paused job starts trials")) return std::nullopt;
  const int64_t extra = WINNOW_MUTANT("one trial more than may run at once") ? 1 : 0;
  if (limits.max_parallel_trials > 0 && state.totals().live_attempts >= limits.max_parallel_trials + extra) {
    return std::nullopt;
  }
  int64_t left = 0;  // units for those that were passed
  size_t waiting = 0;
  for (const auto& [bracket, number] : state.pending()) {
    const TrialState& trial = state.trial(number);
    if (trial.to_be_taken > 0 && !WINNOW_MUTANT("a trial is trained on before its checkpoint was taken")) {
      continue;
    }
    const int64_t from = trial.checkpoint;
    const int64_t units = trial.to > 0 ? trial.to - from : 0;
    if (passed.count(number) > 0) {
      left += units;
      continue;
    }
    ++waiting;
    if (PaysNow(state, left + units)) return Admission{std::nullopt, number, from, trial.to};
    if (!PaysEver(state, units)) {
      return Admission{TrialEnded{number, TrialEnd::kStopped, SpentReason(state)}, 0, 0, 0};
    }
  }
  // A trial that waits for others to give back what they do not need goes before a new one.
  if (waiting > 0) return std::nullopt;
  if (auto promotion = PromotionOf(state)) {
    const int64_t from = state.trial(promotion->trial).checkpoint;
    if (PaysNow(state, left + UnitsOf(state, *promotion))) {
      return Admission{*promotion, promotion->trial, from, promotion->to};
    }
  }
  auto next = Next(state);
  if (!next || !PaysEver(state, next->opening.to)) {
    const auto last = WantsSuggestion(state) ? std::nullopt : LastKeptOnward(state);
    if (!last || !PaysNow(state, left + UnitsOf(state, *last))) return std::nullopt;
    return Admission{*last, last->trial, state.trial(last->trial).checkpoint, last->to};
  }
  if (!PaysNow(state, left + next->opening.to)) return std::nullopt;
  const TrialNumber number = state.next_trial();
  const Opening& at = next->opening;
  return Admission{TrialCreated{number, std::move(next->suggestion.configuration), at.bracket, at.rung, at.to,
                                std::move(next->suggestion.why)},
                   number, 0, at.to};
}

}  // namespace winnow
