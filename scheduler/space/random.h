#pragma once

#include <cstdint>

#include "base/hash.h"
#include "scheduler/space/types.h"

namespace winnow {

// Counter-based randomness: every draw is a function of its four inputs, so nothing has to be remembered and
// the order in which draws are made does not matter.

// What a draw is for; draws of different purposes are independent. The numbers are part of every recorded
// job: they never change.
enum class Purpose : uint64_t {
  kConfiguration = 1,
  kTrialSeed = 2,
  kSimulation = 3,
  kModel = 4,
  kPrior = 5,
  kPopulation = 6
};

inline uint64_t RandomBits(uint64_t seed, TrialNumber trial, Purpose purpose, uint64_t index) {
  return MixBits(HashOf(seed, static_cast<uint64_t>(trial), static_cast<uint64_t>(purpose), index));
}

// Uniform in [0, 1), a multiple of 2^-53.
inline double RandomUnit(uint64_t seed, TrialNumber trial, Purpose purpose, uint64_t index) {
  return UnitOf(RandomBits(seed, trial, purpose, index));
}

// The seed that a trial's trainer is given: 63 bits, the same at every attempt.
inline uint64_t TrialSeed(uint64_t job_seed, TrialNumber trial) {
  return RandomBits(job_seed, trial, Purpose::kTrialSeed, 0) >> 1;
}

// The seed of a training to level `to`: with repeats that of the repeat, which all trials have in common.
inline uint64_t TrainingSeed(const SearchSpec& spec, TrialNumber trial, int64_t to) {
  return TrialSeed(spec.seed, spec.repeats > 0 ? to : trial);
}

}  // namespace winnow
