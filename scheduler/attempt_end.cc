#include "scheduler/attempt_end.h"

#include <algorithm>
#include <utility>

namespace winnow {
namespace {

using Ranks = std::vector<RankEnd>;

// The machines' fault, not the trainer's.
bool IsOfMachines(FailureCause cause) {
  return cause == FailureCause::kNotStarted || cause == FailureCause::kRanksGone;
}

Ranks::const_iterator First(const Ranks& ranks, AttemptOutcome outcome) {
  return std::find_if(ranks.begin(), ranks.end(),
                      [outcome](const RankEnd& rank) { return rank.outcome == outcome; });
}

Ranks::const_iterator FirstFailure(const Ranks& ranks) {
  auto first = ranks.end();
  for (auto rank = ranks.begin(); rank != ranks.end(); ++rank) {
    const bool own = rank->outcome == AttemptOutcome::kFailed && !IsOfMachines(rank->cause);
    if (own && (first == ranks.end() || rank->end_us < first->end_us)) first = rank;
  }
  return first != ranks.end() ? first : First(ranks, AttemptOutcome::kFailed);
}

}  // namespace

RankEnd RecordedEnd(RankEnd said, RankState state, RankPhase phase, const std::string& drain_reason,
                    const std::string& leaving_reason) {
  RankEnd end = std::move(said);
  const bool nothing_to_finish = phase != RankPhase::kStarted;
  if (nothing_to_finish && end.outcome == AttemptOutcome::kFinished) {
    end.outcome = AttemptOutcome::kFailed;
    end.reason = "it ended before all ranks were prepared";
    end.cause = FailureCause::kNotStarted;
  }
  // A worker says kFailed only of what failed before it was stopped: another rank's failure may just have
  // been heard of first. So a failure explains the end, as do the loss and the leaving of the worker.
  const bool explains = end.outcome == AttemptOutcome::kLost || end.outcome == AttemptOutcome::kHandedBack ||
                        end.outcome == AttemptOutcome::kFailed;
  if (state == RankState::kDrained) {
    if (end.outcome != AttemptOutcome::kLost) end.outcome = AttemptOutcome::kHandedBack;
    end.reason = drain_reason;
  } else if (state == RankState::kRevoked && !explains) {
    end.outcome = AttemptOutcome::kStopped;
  }
  if (end.outcome != AttemptOutcome::kFailed) end.cause = FailureCause::kTrainer;
  if (end.outcome == AttemptOutcome::kHandedBack && end.reason.empty()) end.reason = leaving_reason;
  return end;
}

AttemptEnded EndOfAttempt(TrialNumber trial, int64_t attempt, const std::vector<RankEnd>& ranks,
                          bool trial_ended) {
  AttemptEnded ended;
  ended.trial = trial;
  ended.attempt = attempt;
  ended.started_us = ranks[0].start_us;
  ended.ended_us = ranks[0].end_us;
  // Nodes are held until the last rank has ended. How long a rank took is by the clock of its own host.
  for (const RankEnd& rank : ranks) {
    if (ended.started_us > 0 && rank.start_us > 0)
      ended.ended_us = std::max(ended.ended_us, ended.started_us + rank.end_us - rank.start_us);
  }
  auto cause = ranks.end();
  if (trial_ended) {
    ended.outcome = AttemptOutcome::kStopped;
  } else if ((cause = First(ranks, AttemptOutcome::kLost)) != ranks.end()) {
    ended.outcome = AttemptOutcome::kLost;
  } else if ((cause = First(ranks, AttemptOutcome::kHandedBack)) != ranks.end()) {
    ended.outcome = AttemptOutcome::kHandedBack;
  } else if ((cause = FirstFailure(ranks)) != ranks.end()) {
    ended.outcome = IsOfMachines(cause->cause) ? AttemptOutcome::kLost : AttemptOutcome::kFailed;
  } else {
    ended.outcome = AttemptOutcome::kFinished;
    ended.reason = ranks[0].reason;  // why it has reported nothing of the objective; mostly ""
  }
  if (cause != ranks.end()) {
    ended.reason = ranks.size() == 1 ? cause->reason
                                     : "rank " + std::to_string(cause - ranks.begin()) + ": " + cause->reason;
  }
  return ended;
}

}  // namespace winnow
