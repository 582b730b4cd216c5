#include "trainers/mlp/parallel/compressed_sum.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "fmt/format.h"
#include "trainers/common/instruction_sets.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/network.h"

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

// Returns `rank`'s part of data that `size` ranks sum.
Part PieceOf(std::size_t count, int rank, int size) {
  return PartOf(static_cast<int64_t>(count), rank, size, kPanel);
}

std::span<float> In(std::span<float> data, Part piece) {
  return data.subspan(static_cast<std::size_t>(piece.begin),
                      static_cast<std::size_t>(piece.end - piece.begin));
}

void Add(std::span<const float> more, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

// The beginning of Collect's result; each rank's errors follow.
struct Header {
  uint64_t count = 0, ranks = 0;
};

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

CompressedSum::CompressedSum(Compression compression, std::size_t count, Communicator* ranks)
    : compression_(compression), ranks_(ranks), error_(count) {}

absl::Status CompressedSum::Sum(std::size_t begin, std::span<float> data) {
  const int rank = ranks_->rank(), size = ranks_->size();
  const std::span<float> error = std::span<float>(error_).subspan(begin, data.size());
  Add(error, data);
  if (size == 1) {
    std::fill(error.begin(), error.end(), 0.0f);
    return absl::OkStatus();
  }

  std::vector<std::string> to(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    const Part piece = PieceOf(data.size(), r, size);
    const std::span<const float> values = In(data, piece);
    to[r].resize(CompressedBytes(compression_, values.size()));
    Compress(compression_, values, to[r].data(), In(error, piece).data());
  }
  absl::StatusOr<std::vector<std::string>> parts = ranks_->AllToAll(to);
  if (!parts.ok()) return parts.status();

  const Part own = PieceOf(data.size(), rank, size);
  sum_.assign(static_cast<std::size_t>(own.end - own.begin), 0.0f);
  decoded_.resize(sum_.size());
  for (int r = 0; r < size; ++r) {
    if (r == rank) {
      Add(In(data, own), sum_);
      continue;
    }
    const std::string& part = (*parts)[r];
    if (part.size() != CompressedBytes(compression_, sum_.size())) {
      return absl::InternalError(fmt::format("rank {} sent {} bytes of compressed gradients where {} are due",
                                             r, part.size(), CompressedBytes(compression_, sum_.size())));
    }
    Decompress(compression_, part.data(), decoded_);
    Add(decoded_, sum_);
  }
  std::vector<std::size_t> begins = {0};  // of each rank's compressed sums
  for (int r = 0; r < size; ++r)
    begins.push_back(begins.back() +
                     CompressedBytes(compression_, In(data, PieceOf(data.size(), r, size)).size()));
  packed_.resize(begins.back());
  Compress(compression_, sum_, packed_.data() + begins[rank], In(error, own).data());
  absl::Status status = ranks_->AllGatherInPlace(std::as_writable_bytes(std::span<char>(packed_)), begins);
  if (!status.ok()) return status;
  for (int r = 0; r < size; ++r)
    Decompress(compression_, packed_.data() + begins[r], In(data, PieceOf(data.size(), r, size)));
  return absl::OkStatus();
}

absl::StatusOr<std::string> CompressedSum::Collect() {
  std::vector<std::string> to(static_cast<std::size_t>(ranks_->size()));
  to[0].assign(reinterpret_cast<const char*>(error_.data()), error_.size() * sizeof(float));
  absl::StatusOr<std::vector<std::string>> all = ranks_->AllToAll(to);
  if (!all.ok()) return all.status();
  if (ranks_->rank() != 0) return "";
  const Header header{error_.size(), static_cast<uint64_t>(ranks_->size())};
  std::string collected(reinterpret_cast<const char*>(&header), sizeof(header));
  for (const std::string& errors : *all) collected += errors;
  return collected;
}

absl::Status CompressedSum::Restore(const std::string& collected) {
  std::fill(error_.begin(), error_.end(), 0.0f);
  if (collected.empty()) return absl::OkStatus();
  Header header;
  const std::size_t each = error_.size() * sizeof(float);
  if (collected.size() >= sizeof(header)) std::memcpy(&header, collected.data(), sizeof(header));
  if (header.count != error_.size() || (collected.size() - sizeof(header)) % each != 0 ||
      (collected.size() - sizeof(header)) / each != header.ranks) {
    return absl::InvalidArgumentError(
        fmt::format("errors of compressed gradients: {} bytes are not those of ranks with {} parameters each",
                    collected.size(), error_.size()));
  }
  std::vector<float> errors(error_.size());
  for (uint64_t r = ranks_->rank(); r < header.ranks; r += ranks_->size()) {
    std::memcpy(errors.data(), collected.data() + sizeof(header) + r * each, each);
    Add(errors, error_);
  }
  return absl::OkStatus();
}

}  // namespace winnow::mlp
