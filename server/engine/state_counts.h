#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace winnow {

class Engine;

// Numbers of workers, slots, jobs, trials and reports, for metrics.
struct StateCounts {
  std::map<std::pair<std::string, std::string>, int64_t> workers;  // present ones, by state and scheduling
  int64_t slots = 0;                                               // of them
  int64_t used_slots = 0;
  std::map<std::string, int64_t> jobs;        // open jobs by state
  std::map<std::string, int64_t> trials;      // trials of open jobs by state
  std::map<std::string, double> job_costs;    // of open jobs that cost something, by id
  std::map<std::string, int64_t> ended_jobs;  // jobs that ended since the start, by state
  std::map<std::string, int64_t> reports;     // workers' reports since the start, by result
};

// O(workers and open jobs). On the coordinator's thread, between batches.
StateCounts CountState(Engine& engine);

}  // namespace winnow
