#pragma once

#include <cstdint>

#include "scheduler/space/types.h"

namespace winnow {

// Counter-based randomness: every draw is a function of its four inputs, so nothing has to be remembered and
// the order in which draws are made does not matter.

// What a draw is for; draws of different purposes are independent. The numbers are part of every recorded
// job: they never change.
enum class Purpose : uint64_t { kConfiguration = 1, kTrialSeed = 2, kSimulation = 3, kModel = 4 };

inline uint64_t RandomBits(uint64_t seed, TrialNumber trial, Purpose purpose, uint64_t index) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  // The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014; constants of Stafford's variant 13).
  const auto mix = [](uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  };
  uint64_t x = mix(seed + kGolden);
  x = mix((x ^ static_cast<uint64_t>(trial)) + kGolden);
  x = mix((x ^ static_cast<uint64_t>(purpose)) + kGolden);
  return mix(mix((x ^ index) + kGolden) + kGolden);
}

// Uniform in [0, 1), a multiple of 2^-53.
inline double RandomUnit(uint64_t seed, TrialNumber trial, Purpose purpose, uint64_t index) {
  return static_cast<double>(RandomBits(seed, trial, purpose, index) >> 11) * 0x1p-53;
}

// The seed that a trial's trainer is given: 63 bits, the same at every attempt.
inline uint64_t TrialSeed(uint64_t job_seed, TrialNumber trial) {
  return RandomBits(job_seed, trial, Purpose::kTrialSeed, 0) >> 1;
}

}  // namespace winnow
