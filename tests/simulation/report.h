#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/simulation.h"

namespace winnow {

// Sums over runs, and the line that repeats a seed that failed: also when the process is aborted in its midst.
class SeedReport {
 public:
  // `program` is what repeats a seed.
  SeedReport(std::string program, Scale scale);

  // The seed runs now.
  void Begin(int64_t seed);
  // False: a promise was broken, which is printed.
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
