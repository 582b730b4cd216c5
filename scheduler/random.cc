#include "scheduler/random.h"

namespace winnow {
namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014; constants of Stafford's variant 13).
uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

}  // namespace

uint64_t RandomBits(uint64_t seed, TrialNumber trial, Purpose purpose, uint64_t index) {
  uint64_t x = Mix(seed + kGolden);
  x = Mix((x ^ static_cast<uint64_t>(trial)) + kGolden);
  x = Mix((x ^ static_cast<uint64_t>(purpose)) + kGolden);
  return Mix(Mix((x ^ index) + kGolden) + kGolden);
}

double RandomUnit(uint64_t seed, TrialNumber trial, Purpose purpose, uint64_t index) {
  return static_cast<double>(RandomBits(seed, trial, purpose, index) >> 11) * 0x1p-53;
}

uint64_t TrialSeed(uint64_t job_seed, TrialNumber trial) {
  return RandomBits(job_seed, trial, Purpose::kTrialSeed, 0) >> 1;
}

}  // namespace winnow
