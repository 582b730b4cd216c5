#include "trainers/mlp/network/row_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "trainers/common/instruction_sets.h"
#include "trainers/common/portable_math.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {
namespace {

constexpr float kRootHalf = 0.70710678f;
constexpr float kDensityAtZero = 0.39894228f;  // of the standard normal distribution

// The standard normal distribution function, by Abramowitz and Stegun's 7.1.26; `bell` is exp(-z^2 / 2).
inline float NormalShare(float z, float bell) {
  const float x = std::fabs(z) * kRootHalf;
  const float t = 1.0f / (1.0f + 0.3275911f * x);
  const float poly =
      t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float tail = 0.5f * poly * bell;
  return z < 0 ? tail : 1.0f - tail;
}

inline float Tanh(float x) {
  constexpr float kSmall = 0.3f;  // below it, the quotient would lose digits
  const float square = x * x;
  const float series =
      x * (1.0f +
           square * (-1.0f / 3 + square * (2.0f / 15 + square * (-17.0f / 315 + square * (62.0f / 2835)))));
  const float quotient = 1.0f - 2.0f / (PortableExp(2.0f * x) + 1.0f);
  const float near =
      std::fabs(x) < kSmall ? 1.0f : 0.0f;  // not a choice between results: that would not be vectorised
  return near * std::clamp(series, -1.0f, 1.0f) + (1.0f - near) * quotient;
}

inline uint32_t Bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

// The finaliser of MurmurHash3, 32 bits.
inline uint32_t Mixed(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

WINNOW_EACH_INSTRUCTION_SET
void Relu(const float* z, std::size_t count, float* a) {
  for (std::size_t i = 0; i < count; ++i) a[i] = z[i] < 0 ? 0.0f : z[i];  // NaN stays
}

WINNOW_EACH_INSTRUCTION_SET
void LeakyRelu(float slope, const float* z, std::size_t count, float* a) {
  for (std::size_t i = 0; i < count; ++i) a[i] = z[i] < 0 ? slope * z[i] : z[i];
}

WINNOW_EACH_INSTRUCTION_SET
void Gelu(const float* z, std::size_t count, float* a) {
  for (std::size_t i = 0; i < count; ++i) a[i] = z[i] * NormalShare(z[i], PortableExp(-0.5f * z[i] * z[i]));
}

WINNOW_EACH_INSTRUCTION_SET
void TanhRow(const float* z, std::size_t count, float* a) {
  for (std::size_t i = 0; i < count; ++i) a[i] = Tanh(z[i]);
}

WINNOW_EACH_INSTRUCTION_SET
void ReluGradient(const float* a, std::size_t count, float* delta) {
  for (std::size_t i = 0; i < count; ++i) delta[i] = a[i] > 0 ? delta[i] : 0.0f;
}

WINNOW_EACH_INSTRUCTION_SET
void LeakyReluGradient(float slope, const float* a, std::size_t count, float* delta) {
  for (std::size_t i = 0; i < count; ++i) delta[i] = a[i] < 0 ? slope * delta[i] : delta[i];
}

WINNOW_EACH_INSTRUCTION_SET
void GeluGradient(const float* z, std::size_t count, float* delta) {
  for (std::size_t i = 0; i < count; ++i) {
    const float bell = PortableExp(-0.5f * z[i] * z[i]);
    delta[i] *= NormalShare(z[i], bell) + z[i] * kDensityAtZero * bell;
  }
}

WINNOW_EACH_INSTRUCTION_SET
void TanhGradient(const float* a, std::size_t count, float* delta) {
  for (std::size_t i = 0; i < count; ++i) delta[i] *= 1.0f - a[i] * a[i];
}

WINNOW_EACH_INSTRUCTION_SET
void DropRow(uint32_t key, uint32_t least_kept, float scale, std::size_t count, float* values) {
  for (std::size_t i = 0; i < count; ++i)
    values[i] = Mixed(key ^ static_cast<uint32_t>(i) * 0x9e3779b9u) >= least_kept ? values[i] * scale : 0.0f;
}

WINNOW_EACH_INSTRUCTION_SET
uint32_t LargestBits(const float* values, std::size_t count) {
  int32_t largest = 0;  // non-negative floats are ordered like their bits
  for (std::size_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<int32_t>(values[i]) & 0x7fffffff);
  return static_cast<uint32_t>(largest);
}

}  // namespace

WINNOW_EACH_INSTRUCTION_SET
void BytesToFloats(const uint8_t* bytes, std::size_t count, float scale, float shift, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(bytes[i]) * scale + shift;
}

void Activate(Activation kind, float leaky_slope, const float* z, std::size_t count, float* a) {
  switch (kind) {
    case Activation::kRelu:
      return Relu(z, count, a);
    case Activation::kLeakyRelu:
      return LeakyRelu(leaky_slope, z, count, a);
    case Activation::kGelu:
      return Gelu(z, count, a);
    case Activation::kTanh:
      return TanhRow(z, count, a);
  }
}

void ActivationGradient(Activation kind, float leaky_slope, const float* z, const float* a, std::size_t count,
                        float* delta) {
  switch (kind) {
    case Activation::kRelu:
      return ReluGradient(a, count, delta);
    case Activation::kLeakyRelu:
      return LeakyReluGradient(leaky_slope, a, count, delta);
    case Activation::kGelu:
      return GeluGradient(z, count, delta);
    case Activation::kTanh:
      return TanhGradient(a, count, delta);
  }
}

uint32_t DropoutKey(uint64_t seed, int64_t step, int layer, int64_t position) {
  return static_cast<uint32_t>(HashOf(seed, static_cast<uint64_t>(step), static_cast<uint64_t>(layer) + 1,
                                      static_cast<uint64_t>(position)));
}

void Drop(const DropoutRow& row, std::size_t count, float* values) {
  constexpr double kAll = 4294967296.0;  // 2^32
  const auto least_kept = static_cast<uint32_t>(std::min(static_cast<double>(row.rate) * kAll, kAll - 1));
  DropRow(row.key, least_kept, 1.0f / (1.0f - row.rate), count, values);
}

float LargestMagnitude(const float* values, std::size_t count) {
  const float largest = std::bit_cast<float>(LargestBits(values, count));
  return std::isnan(largest) ? INFINITY : largest;
}

WINNOW_EACH_INSTRUCTION_SET
void Scale(float factor, std::size_t count, float* values) {
  for (std::size_t i = 0; i < count; ++i) values[i] *= factor;
}

WINNOW_EACH_INSTRUCTION_SET
void PackBf16(const float* values, std::size_t count, uint32_t* pairs) {
  for (std::size_t i = 0; i < count / 2; ++i) pairs[i] = Bf16(values[2 * i]) | Bf16(values[2 * i + 1]) << 16;
}

WINNOW_EACH_INSTRUCTION_SET
void PackBf16Pairs(const float* lower, const float* upper, float factor, std::size_t count, uint32_t* pairs) {
  if (upper == nullptr) {
    for (std::size_t i = 0; i < count; ++i) pairs[i] = Bf16(lower[i] * factor);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) pairs[i] = Bf16(lower[i] * factor) | Bf16(upper[i] * factor) << 16;
}

WINNOW_EACH_INSTRUCTION_SET
void CountsToFloats(const int32_t* counts, float factor, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(counts[i]) * factor;
}

WINNOW_EACH_INSTRUCTION_SET
void AddValues(const float* values, std::size_t count, double* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += values[i];
}

WINNOW_EACH_INSTRUCTION_SET
void AddSquares(const float* values, const double* means, std::size_t count, double* sums) {
  for (std::size_t i = 0; i < count; ++i) {
    const double off = values[i] - means[i];
    sums[i] += off * off;
  }
}

WINNOW_EACH_INSTRUCTION_SET
void AddProducts(const float* a, const float* b, std::size_t count, double* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(a[i]) * b[i];
}

WINNOW_EACH_INSTRUCTION_SET
void Normalise(const double* means, const double* inverses, const float* gamma, const float* beta,
               std::size_t count, float* values, float* normalised) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>((values[i] - means[i]) * inverses[i]);
    normalised[i] = value;
    values[i] = gamma[i] * value + beta[i];
  }
}

WINNOW_EACH_INSTRUCTION_SET
void NormaliseGradient(const double* factors, const double* mean_beta, const double* mean_gamma,
                       const float* normalised, std::size_t count, float* delta) {
  for (std::size_t i = 0; i < count; ++i)
    delta[i] = static_cast<float>(factors[i] * (delta[i] - mean_beta[i] - normalised[i] * mean_gamma[i]));
}

void TransposeBlock(const float* from, int rows, float* to) {
  typedef float Four __attribute__((vector_size(16)));
  const auto load = [&](int i, int j) {
    Four four = {};
    if (i < rows) std::memcpy(&four, from + i * kPanel + j, sizeof four);
    return four;
  };
  for (int i = 0; i < kPanel; i += 4) {
    for (int j = 0; j < kPanel; j += 4) {
      const Four a = load(i, j), b = load(i + 1, j), c = load(i + 2, j), d = load(i + 3, j);
      const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      const Four columns[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                               __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                               __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                               __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
      for (int column = 0; column < 4; ++column)
        std::memcpy(to + (j + column) * kPanel + i, &columns[column], sizeof(Four));
    }
  }
}

}  // namespace winnow::mlp
