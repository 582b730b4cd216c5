#pragma once

#include <cstdint>

#include "scheduler/space/random.h"

namespace winnow {

// Random draws of one run: each is a function of the run's seed and the number of earlier draws.
class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(seed) {}

  uint64_t Bits() { return RandomBits(seed_, 0, Purpose::kSimulation, ++drawn_); }
  bool Chance(double probability) {
    return probability > 0 && static_cast<double>(Bits() >> 11) * 0x1p-53 < probability;
  }
  // Both ends included. REQUIRES: low <= high.
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Bits() % static_cast<uint64_t>(high - low + 1));
  }
  // Usually near `low`, rarely near `high`, like delays.
  int64_t Skewed(int64_t low, int64_t high) {
    const double unit = static_cast<double>(Bits() >> 11) * 0x1p-53;
    return low + static_cast<int64_t>(unit * unit * unit * static_cast<double>(high - low));
  }

 private:
  const uint64_t seed_;
  uint64_t drawn_ = 0;
};

}  // namespace winnow
