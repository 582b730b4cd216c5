#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace winnow {

// The result of a world of projects.
struct ProjectsResult {
  std::string violation;  // "": every promise is kept
  int64_t attempts = 0;   // that ended
  int64_t preempted = 0;  // of these
  int64_t restarts = 0;   // of the server, after a kill
  double worst_difference =
      0;  // of a project's part of the slots from its due part, where all compete; 0 to 1
};

// Plays an hour or two of projects that share workers: engine, store and placement are real, programs and
// time are not. A function of the seed.
// - After every batch no quota is exceeded. Exceptions: a quota that was lowered meanwhile, and node-hours,
//   by the time that stopping ranks take.
// - At the end, where all projects always have work, each had its due part of the slots within 5 % of all.
//   Elsewhere all jobs have ended.
// - No preempted attempt counted as a failure, or began below the level from which it had begun.
// - After a kill of the server, what was used is the same to the bit.
ProjectsResult PlayProjects(uint64_t seed);

}  // namespace winnow
