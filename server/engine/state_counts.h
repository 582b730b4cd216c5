#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace winnow {

class Engine;

// How things stand, in numbers.
struct StateCounts {
  std::map<std::pair<std::string, std::string>, int64_t>
      workers;        // those that are there, by state and scheduling
  int64_t slots = 0;  // of them
  int64_t used_slots = 0;
  std::map<std::string, int64_t> jobs;        // that have not ended, by state
  std::map<std::string, int64_t> trials;      // of these jobs, by state
  std::map<std::string, int64_t> ended_jobs;  // since the start, by state
  std::map<std::string, int64_t> reports;     // of workers since the start, by what became of them
};

// O(workers and open jobs). On the coordinator's thread, between batches.
StateCounts CountState(Engine& engine);

}  // namespace winnow
