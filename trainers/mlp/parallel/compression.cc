#include "trainers/mlp/parallel/compression.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "trainers/common/instruction_sets.h"

namespace winnow::mlp {
namespace {

constexpr std::size_t kScaleRun = 256;  // numbers of one scale
constexpr float kLevels = 127;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;  // bits of a float
// Runs of smaller numbers become 0: the scale's inverse would not be finite.
constexpr float kLeastLargest = 0x1p-100f;
// Adding and subtracting it rounds a float below 2^22 to the nearest integer, ties to even.
constexpr float kRounding = 0x1.8p23f;

inline uint16_t ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  constexpr uint32_t kQuietNaN = 0x7fc0u;
  return static_cast<uint16_t>(static_cast<int32_t>(bits & kMagnitude) > kInfinity ? kQuietNaN : rounded);
}

inline float FromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

WINNOW_EACH_INSTRUCTION_SET
void CompressBf16(const float* __restrict values, std::size_t count, char* __restrict bytes,
                  float* __restrict left_out) {
  for (std::size_t i = 0; i < count; ++i) {
    const uint16_t half = ToBf16(values[i]);
    std::memcpy(bytes + 2 * i, &half, 2);
    left_out[i] = values[i] - FromBf16(half);
  }
}

WINNOW_EACH_INSTRUCTION_SET
void DecompressBf16(const char* __restrict bytes, std::size_t count, float* __restrict values) {
  for (std::size_t i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, bytes + 2 * i, 2);
    values[i] = FromBf16(half);
  }
}

// Returns the scale of one run: NaN if a number is not finite, 0 if all are negligible. Compares magnitudes
// as the integers of their bits, which is vectorised.
WINNOW_EACH_INSTRUCTION_SET
float ScaleOf(const float* values, std::size_t count) {
  int32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<int32_t>(values[i]) & kMagnitude);
  if (largest >= kInfinity) return kNaN;
  const float magnitude = std::bit_cast<float>(largest);
  return magnitude < kLeastLargest ? 0 : magnitude / kLevels;
}

WINNOW_EACH_INSTRUCTION_SET
void CompressRun(const float* __restrict values, std::size_t count, float scale, int8_t* __restrict bytes,
                 float* __restrict left_out) {
  const float inverse = 1 / scale;
  for (std::size_t i = 0; i < count; ++i) {
    const float level = std::min(std::max((values[i] * inverse + kRounding) - kRounding, -kLevels), kLevels);
    bytes[i] = static_cast<int8_t>(static_cast<int>(level));
    left_out[i] = values[i] - level * scale;
  }
}

WINNOW_EACH_INSTRUCTION_SET
void DecompressRun(const int8_t* __restrict bytes, std::size_t count, float scale, float* __restrict values) {
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(bytes[i]) * scale;
}

std::size_t ScalesOf(std::size_t count) { return (count + kScaleRun - 1) / kScaleRun; }

// All scales first, then all numbers.
void CompressInt8(const float* values, std::size_t count, char* bytes, float* left_out) {
  int8_t* const levels = reinterpret_cast<int8_t*>(bytes + ScalesOf(count) * sizeof(float));
  for (std::size_t at = 0; at < count; at += kScaleRun, bytes += sizeof(float)) {
    const std::size_t run = std::min(kScaleRun, count - at);
    const float scale = ScaleOf(values + at, run);
    std::memcpy(bytes, &scale, sizeof(scale));
    if (scale > 0) {
      CompressRun(values + at, run, scale, levels + at, left_out + at);
    } else {
      std::fill_n(levels + at, run, int8_t{0});
      std::copy_n(values + at, run, left_out + at);
    }
  }
}

void DecompressInt8(const char* bytes, std::size_t count, float* values) {
  const int8_t* const levels = reinterpret_cast<const int8_t*>(bytes + ScalesOf(count) * sizeof(float));
  for (std::size_t at = 0; at < count; at += kScaleRun, bytes += sizeof(float)) {
    float scale;
    std::memcpy(&scale, bytes, sizeof(scale));
    DecompressRun(levels + at, std::min(kScaleRun, count - at), scale, values + at);
  }
}

}  // namespace

std::size_t CompressedBytes(Compression compression, std::size_t count) {
  return compression == Compression::kBf16 ? 2 * count : count + sizeof(float) * ScalesOf(count);
}

void Compress(Compression compression, std::span<const float> values, char* bytes, float* left_out) {
  if (compression == Compression::kBf16)
    CompressBf16(values.data(), values.size(), bytes, left_out);
  else
    CompressInt8(values.data(), values.size(), bytes, left_out);
}

void Decompress(Compression compression, const char* bytes, std::span<float> values) {
  if (compression == Compression::kBf16)
    DecompressBf16(bytes, values.size(), values.data());
  else
    DecompressInt8(bytes, values.size(), values.data());
}

}  // namespace winnow::mlp
