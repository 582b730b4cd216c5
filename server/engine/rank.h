#pragma once

#include <cstdint>

#include "scheduler/attempt_end.h"
#include "store/assignments.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// A rank of a live attempt. Its worker holds it until it is gone.
struct Rank {
  AssignmentRow row;
  v1::Assignment message;  // what answers to its worker say of it
  bool told = false;       // some answer has named it, so the worker may hold it
  bool stated = false;     // its worker has named it: then it is gone only when the worker says so
  bool runs = false;       // its worker has said so since the attempt started
  bool may_lack =
      false;  // it was to start before the server did, perhaps with credentials that nobody has kept
  int64_t told_us = 0;  // when an answer named it last, in Clock::steady_us

  bool wanted() const { return row.state == RankState::kWanted; }
  bool revoked() const { return row.state == RankState::kRevoked || row.state == RankState::kDrained; }
  bool gone() const { return row.state == RankState::kGone; }
};

}  // namespace winnow
