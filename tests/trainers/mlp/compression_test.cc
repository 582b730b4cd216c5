#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tests/catch.h"
#include "trainers/mlp/parallel/compressed_sum.h"

namespace winnow::mlp {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> DrawnNumbers(std::size_t count) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<float>(static_cast<int64_t>(MixBits(i) >> 40)) * 0x1p-20f - 8);
  return numbers;
}

struct Sent {
  std::vector<float> values, left_out;
  std::size_t bytes = 0;
};

Sent Send(Compression compression, const std::vector<float>& values) {
  Sent sent{std::vector<float>(values.size()), std::vector<float>(values.size()), 0};
  std::string bytes(CompressedBytes(compression, values.size()), '\0');
  Compress(compression, values, bytes.data(), sent.left_out.data());
  Decompress(compression, bytes.data(), sent.values);
  sent.bytes = bytes.size();
  return sent;
}

TEST_CASE("Compression: 2 bytes a number, or 1 and a scale for each 256 begun", "[mlp]") {
  CHECK(CompressedBytes(Compression::kBf16, 1000) == 2000);
  CHECK(CompressedBytes(Compression::kInt8, 1000) == 1000 + 4 * 4);
  CHECK(CompressedBytes(Compression::kInt8, 256) == 260);
  CHECK(CompressedBytes(Compression::kInt8, 0) == 0);
}

TEST_CASE("Compression: what arrives and what was left out are together what was sent", "[mlp]") {
  const std::vector<float> numbers = DrawnNumbers(1000);
  for (const Compression compression : {Compression::kBf16, Compression::kInt8}) {
    const Sent sent = Send(compression, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(sent.values[i] + sent.left_out[i] == numbers[i]);
  }
}

TEST_CASE("Compression: bf16 keeps 8 bits and rounds ties to even", "[mlp]") {
  const std::vector<float> sent = {1, -0.15625f, 1.00390625f, 1.01171875f, 3.1415927f};
  CHECK(Send(Compression::kBf16, sent).values == std::vector<float>{1, -0.15625f, 1, 1.015625f, 3.140625f});
}

TEST_CASE("Compression: int8 is off by half a level of its own 256 numbers at most", "[mlp]") {
  std::vector<float> numbers = DrawnNumbers(512);
  for (std::size_t i = 256; i < 512; ++i) numbers[i] *= 1e-4f;
  const Sent sent = Send(Compression::kInt8, numbers);
  for (std::size_t i = 0; i < 512; ++i)
    CHECK(std::fabs(sent.left_out[i]) <= (i < 256 ? 8.0f : 8e-4f) / 127 / 2 * 1.001f);
}

TEST_CASE("Compression: numbers next to nothing are left out, and zeros stay zeros", "[mlp]") {
  const Sent sent = Send(Compression::kInt8, {0, 1e-40f, -1e-38f});
  CHECK(sent.values == std::vector<float>{0, 0, 0});
  CHECK(sent.left_out == std::vector<float>{0, 1e-40f, -1e-38f});
}

TEST_CASE("Compression: what is not finite does not arrive as finite", "[mlp]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {nan, -nan, kInfinity, -kInfinity}) {
    CHECK_FALSE(std::isfinite(Send(Compression::kBf16, {1, bad, 2}).values[1]));
    CHECK_FALSE(std::isfinite(Send(Compression::kInt8, {1, bad, 2}).values[1]));
  }
}

}  // namespace
}  // namespace winnow::mlp
