#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/placement.h"
#include "scheduler/reservation.h"

namespace winnow {

// A trial that holds slots, as one that may be preempted.
struct RunningTrial {
  int64_t job = 0;
  int64_t trial = 0;
  int32_t job_class = 0;
  int64_t started_us = 0;  // its attempt
  bool stopping = false;   // its ranks were told to stop
  RankShape shape = {};
  std::vector<RankPlace> ranks = {};
};

// The rooms, in order of their workers' ids, with what these trials hold given back. Ranks on workers that
// are not among the rooms are left out.
std::vector<WorkerRoom> WithoutTrials(std::vector<WorkerRoom> rooms, const std::vector<RunningTrial>& trials);

// Which of the running trials to stop, by index, so that a gang of a class finds room on the workers that are
// reserved for it. Only trials of lower classes with a rank on these workers; the lowest class first, then
// those that were started last, which lose least. None is stopped that need not be, none if the gang would
// find no room all the same, and none if what stops already is enough. `rooms`: what all workers have left,
// in order of their ids.
std::vector<size_t> TrialsToPreempt(const std::vector<WorkerRoom>& rooms,
                                    const std::vector<RunningTrial>& running, const GangRequest& gang,
                                    int32_t job_class, const Reservation& reserved);

}  // namespace winnow
