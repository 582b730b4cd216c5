#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/simulation.h"

namespace winnow {

// Sums over runs, and the command that reproduces a failed seed, even when the process aborts.
class SeedReport {
 public:
  // `program` reproduces a seed.
  SeedReport(std::string program, Scale scale);

  // The seed starts now.
  void Begin(int64_t seed);
  // False: an invariant was violated, which is printed.
  bool Take(int64_t seed, const RunResult& result);
  void Print() const;

  const RunResult& total() const { return total_; }
  int64_t seeds() const { return seeds_; }

 private:
  const std::string program_;
  const Scale scale_;
  int64_t seeds_ = 0;
  RunResult total_;  // sums; its hash is over all hashes
};

}  // namespace winnow
