#include "trainers/common/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "trainers/common/fixed_point.h"
#include "trainers/common/instruction_sets.h"

namespace winnow {
namespace {

constexpr int kBits = 62;            // of a scaled number
constexpr int kMostExponent = 1000;  // 2^it is a normal double, and so is its inverse
constexpr int kLimbs = 4, kLimbBits = 32;

// Non-negative doubles are ordered like their bits; NaN is above infinity.
WINNOW_EACH_INSTRUCTION_SET
uint64_t LargestMagnitude(const double* values, std::size_t count) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  uint64_t largest = 0;
  for (std::size_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<uint64_t>(values[i]) & ~kSign);
  return largest;
}

UInt128 ScaledSum(std::span<const double> values, double scale) {
  Int128 sum = 0;
  for (const double value : values) sum += static_cast<int64_t>(value * scale);
  return static_cast<UInt128>(sum);
}

}  // namespace

absl::Status SumOverRanks(std::span<UInt128> numbers, Communicator* communicator) {
  if (communicator->size() == 1) return absl::OkStatus();
  std::vector<uint64_t> limbs(numbers.size() * kLimbs);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (int l = 0; l < kLimbs; ++l)
      limbs[i * kLimbs + l] = static_cast<uint32_t>(numbers[i] >> (l * kLimbBits));
  }
  if (absl::Status status = communicator->AllReduceSum(limbs); !status.ok()) return status;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0;
    for (int l = 0; l < kLimbs; ++l)
      numbers[i] += static_cast<UInt128>(limbs[i * kLimbs + l]) << (l * kLimbBits);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> ExactSums(std::initializer_list<std::span<const double>> lists,
                                              Communicator* communicator) {
  std::vector<uint64_t> largest;
  for (const auto& list : lists) largest.push_back(LargestMagnitude(list.data(), list.size()));
  if (absl::Status status = communicator->AllReduceMax(largest); !status.ok()) return status;
  std::vector<UInt128> sums;
  std::vector<int> exponents;
  for (const auto& list : lists) {
    const double magnitude = std::bit_cast<double>(largest[sums.size()]);
    const bool finite = std::isfinite(magnitude);
    exponents.push_back(finite ? std::min(ScaleExponent(magnitude, kBits), kMostExponent) : 0);
    sums.push_back(finite ? ScaledSum(list, std::ldexp(1.0, exponents.back())) : 0);
  }
  if (absl::Status status = SumOverRanks(sums, communicator); !status.ok()) return status;
  std::vector<double> results;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double magnitude = std::bit_cast<double>(largest[i]);
    results.push_back(std::isfinite(magnitude)
                          ? std::ldexp(static_cast<double>(static_cast<Int128>(sums[i])), -exponents[i])
                          : magnitude);
  }
  return results;
}

}  // namespace winnow
