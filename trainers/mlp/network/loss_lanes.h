#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "trainers/common/portable_math.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {

// Sixteen outputs of one row at a time, as vectors that the compiler splits into the machine's. Results over
// all outputs are combined in one order, whatever the machine's width. Vectors are passed by reference,
// because passing by value depends on the instruction set.

#define WINNOW_LANES inline __attribute__((always_inline))

static_assert(kPanel == 16);
using Lanes = float __attribute__((vector_size(64)));
using IntLanes = int32_t __attribute__((vector_size(64)));

constexpr float kNoOutput = std::numeric_limits<float>::lowest();  // value of lanes beyond the last
// As floats: GCC 12 does not vectorise comparisons whose operands are not the selected values.
constexpr Lanes kLaneNumber = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

WINNOW_LANES void Load(const float* from, Lanes* lanes) { std::memcpy(lanes, from, sizeof(Lanes)); }
WINNOW_LANES void Store(const Lanes& lanes, float* to) { std::memcpy(to, &lanes, sizeof(Lanes)); }

// Lanes from `left` on are `beyond`.
WINNOW_LANES void LoadFirst(const float* from, int left, float beyond, Lanes* lanes) {
  Load(from, lanes);
  *lanes = kLaneNumber < static_cast<float>(left) ? *lanes : Lanes{} + beyond;
}

WINNOW_LANES void KeepLarger(const Lanes& other, Lanes* lanes) { *lanes = other > *lanes ? other : *lanes; }

// Adds halves until one lane is left.
template <typename Vector>
WINNOW_LANES auto SumOfLanes(const Vector& lanes) {
  const Vector a =
      lanes + __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  const auto b = __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
  return (b[0] + b[2]) + (b[1] + b[3]);
}

WINNOW_LANES float LargestOfLanes(const Lanes& lanes) {
  Lanes a = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  KeepLarger(lanes, &a);
  const auto low = __builtin_shufflevector(a, a, 0, 1, 2, 3),
             high = __builtin_shufflevector(a, a, 4, 5, 6, 7);
  const auto b = low > high ? low : high;
  const float even = b[0] > b[2] ? b[0] : b[2], odd = b[1] > b[3] ? b[1] : b[3];
  return even > odd ? even : odd;
}

// PortableExp of each lane, with the same bits.
WINNOW_LANES void ExpOf(const Lanes& of, Lanes* result) {
  Lanes x = of < -87.0f ? Lanes{} - 87.0f : of;
  x = x > 88.0f ? Lanes{} + 88.0f : x;
  const Lanes scaled = x * 1.44269504f;
  const IntLanes n =
      __builtin_convertvector(scaled + (scaled >= 0 ? Lanes{} + 0.5f : Lanes{} - 0.5f), IntLanes);
  const Lanes whole = __builtin_convertvector(n, Lanes);
  const Lanes r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
  Lanes y = Lanes{} + 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  const IntLanes power = (n + 127) << 23;
  Lanes scale;
  std::memcpy(&scale, &power, sizeof(Lanes));
  *result = y * scale;
}

// e^((x - largest) * factor), 0 in lanes from `left` on.
WINNOW_LANES void ExpBelow(const Lanes& x, float largest, float factor, int left, Lanes* result) {
  ExpOf((x - largest) * factor, result);
  *result = kLaneNumber < static_cast<float>(left) ? *result : Lanes{};
}

// Returns the class of a label, or for a label without one a number that no output has.
WINNOW_LANES int ClassOf(float label, int outputs) {
  return label >= 0 && label < static_cast<float>(outputs) ? static_cast<int>(label) : -1;
}

}  // namespace winnow::mlp
