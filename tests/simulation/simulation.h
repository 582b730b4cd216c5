#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/simulation/profile.h"
#include "tests/simulation/sim_database.h"

namespace winnow {

// The result of one run.
struct RunResult {
  std::string violation;  // "": all invariants hold
  uint64_t hash = 0;      // of all events: equal for two runs of one seed
  int64_t steps = 0;
  int64_t batches = 0;
  int64_t decisions = 0;
  int64_t facts = 0;
  int64_t reports = 0;
  int64_t changes = 0;  // of jobs, by people
  int64_t virtual_us = 0;
  std::array<int64_t, kFaults> faults = {};
};

// Runs whole systems in one thread and in virtual time: server, store, strategies, placement and agents are
// real; network, processes, clocks and disk are simulated from the seed.
class Simulator {
 public:
  // On SQLite in memory; or in the PostgreSQL database of `address`, which must be reachable.
  explicit Simulator(const std::string& address = "");
  ~Simulator();

  RunResult Run(uint64_t seed, Scale scale, bool trace);

 private:
  absl::StatusOr<std::unique_ptr<SimDatabase>> database_;
};

}  // namespace winnow
