#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/state/facts.h"

namespace winnow {

// What the server wants of a rank.
enum class RankState {
  kWanted,
  kRevoked,  // it is to stop; its worker may still hold it
  kDrained,  // likewise, because its worker is drained: the trial goes on elsewhere
  kGone,     // its worker does not hold it any more
};

// How far the start of a rank's attempt has come.
enum class RankPhase { kPlaced, kPrepared, kStarted };

// Why a rank failed.
enum class FailureCause {
  kTrainer,      // by itself: nothing more is known
  kOutOfMemory,  // it took more memory than it may
  kTimeLimit,    // it took longer than an attempt may
  kNotStarted,   // its worker could not start it, or its disk is full
  kRanksGone,    // it lost the other ranks
};

// How a rank ended, as its worker says or its absence tells.
struct RankEnd {
  AttemptOutcome outcome = AttemptOutcome::kFinished;
  std::string reason;
  int64_t start_us = 0;  // of its process; 0: it never ran
  int64_t end_us = 0;
  FailureCause cause = FailureCause::kTrainer;  // of kFailed
};

// What is recorded of a rank that ended as `said` when it was in that state and phase. `drain_reason` is the
// reason of a rank that is kDrained; `leaving_reason` is its worker's for leaving, or "".
RankEnd RecordedEnd(RankEnd said, RankState state, RankPhase phase, const std::string& drain_reason,
                    const std::string& leaving_reason);

// How an attempt ended, from the recorded ends of its ranks, in order of rank. A lost worker, or one that
// leaves, explains the failures of other ranks, whichever was seen first. A failure of the trainer itself
// comes before what the machines did to other ranks; of several such failures the earliest counts. REQUIRES a
// rank.
AttemptEnded EndOfAttempt(TrialNumber trial, int64_t attempt, const std::vector<RankEnd>& ranks,
                          bool trial_ended);

}  // namespace winnow
