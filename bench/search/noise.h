#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace winnow {

// Counter-based noise: every draw is a function of its purpose, so the order of evaluation does not matter.
class Noise {
 public:
  // `native` as passed to Family::ValueAt.
  Noise(uint64_t family, const std::vector<double>& native, uint64_t seed) : key_(Mix(seed + kGolden)) {
    key_ = Mix((key_ ^ family) + kGolden);
    for (const double value : native) {
      // Rounded, so that a value converted to another scale and back draws the same noise.
      key_ = Mix((key_ ^ static_cast<uint64_t>(std::llround(value * 0x1p30))) + kGolden);
    }
  }

  // In (0, 1).
  double Uniform(uint64_t counter) const {
    return (static_cast<double>(Mix(key_ + (counter + 1) * kGolden) >> 11) + 0.5) * 0x1p-53;
  }

  // Standard normal (Box and Muller, Ann. Math. Stat. 29, 1958).
  double Normal(uint64_t counter) const {
    return std::sqrt(-2 * std::log(Uniform(2 * counter))) *
           std::cos(2 * std::numbers::pi * Uniform(2 * counter + 1));
  }

 private:
  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

  // The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014; constants of Stafford's variant 13).
  static uint64_t Mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  uint64_t key_;
};

}  // namespace winnow
