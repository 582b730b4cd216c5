#pragma once

#include <cstdint>

#include "scheduler/attempt_end.h"
#include "store/assignments.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// A rank of an attempt that has not ended. Its worker holds it until it is gone.
struct Rank {
  AssignmentRow row;
  v1::Assignment message;  // as its worker is told
  bool told = false;       // some answer has named it, so the worker may hold it
  bool stated = false;     // its worker has said that it holds it: it is gone only when that says so
  bool runs = false;       // its worker has said so, since all ranks were told to start
  int64_t told_us = 0;     // when an answer named it last, in Clock::steady_us

  bool wanted() const { return row.state == RankState::kWanted; }
  bool revoked() const { return row.state == RankState::kRevoked || row.state == RankState::kDrained; }
  bool gone() const { return row.state == RankState::kGone; }
};

}  // namespace winnow
