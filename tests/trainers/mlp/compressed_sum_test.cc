#include "trainers/mlp/parallel/compressed_sum.h"

#include <cmath>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tests/catch.h"
#include "tests/trainers/collective/run_ranks.h"

namespace winnow::mlp {
namespace {

constexpr std::size_t kElements = 1200;

// Rank `rank`'s gradient of a step, in [-1, 1).
std::vector<float> Gradient(int rank, int step) {
  std::vector<float> gradient(kElements);
  for (std::size_t i = 0; i < kElements; ++i)
    gradient[i] = static_cast<float>(static_cast<int64_t>(HashOf(rank, step, i) >> 40)) * 0x1p-23f - 1;
  return gradient;
}

// The sums of `steps` steps from `first` on, one after another, as one rank has them.
std::vector<float> SumsOf(CompressedSum* sum, int rank, int first, int steps) {
  std::vector<float> all;
  for (int step = first; step < first + steps; ++step) {
    std::vector<float> data = Gradient(rank, step);
    if (!sum->Sum(0, data).ok()) return {};
    all.insert(all.end(), data.begin(), data.end());
  }
  return all;
}

std::vector<std::vector<float>> Sums(Compression compression, int ranks, int steps) {
  return RunRanks(ranks, [&](Communicator* communicator) {
    CompressedSum sum(compression, kElements, communicator);
    return SumsOf(&sum, communicator->rank(), 0, steps);
  });
}

TEST_CASE("CompressedSum: all ranks have the same bits, the same each time", "[mlp]") {
  for (const Compression compression : {Compression::kBf16, Compression::kInt8}) {
    for (const int ranks : {2, 3, 4}) {
      const std::vector<std::vector<float>> sums = Sums(compression, ranks, 3);
      REQUIRE(sums[0].size() == 3 * kElements);
      for (int r = 1; r < ranks; ++r) CHECK(sums[r] == sums[0]);
      CHECK(sums == Sums(compression, ranks, 3));
    }
  }
}

TEST_CASE("CompressedSum: one rank neither sends nor rounds", "[mlp]") {
  CHECK(Sums(Compression::kInt8, 1, 1)[0] == Gradient(0, 0));
}

TEST_CASE("CompressedSum: what a step leaves out follows, so the error of many steps is that of one",
          "[mlp]") {
  constexpr int kRanks = 3, kSteps = 50;
  const std::vector<float> sums = Sums(Compression::kInt8, kRanks, kSteps)[0];
  REQUIRE(sums.size() == kSteps * kElements);
  const auto worst_of = [&](int steps) {
    double worst = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      double got = 0, exact = 0;
      for (int step = 0; step < steps; ++step) {
        got += sums[step * kElements + i];
        for (int r = 0; r < kRanks; ++r) exact += Gradient(r, step)[i];
      }
      worst = std::max(worst, std::fabs(got - exact));
    }
    return worst;
  };
  const double one = worst_of(1);
  CHECK(one > 0);
  CHECK(worst_of(kSteps) < 2 * one);  // without feedback, a random walk: about sqrt(50) times
}

TEST_CASE("CompressedSum: sends half and a quarter of what floats take", "[mlp]") {
  const auto bytes = [](Compression compression) {
    return RunRanks(4, [&](Communicator* ranks) {
      CompressedSum sum(compression, 1 << 20, ranks);
      std::vector<float> data(1 << 20, 1.0f);
      return sum.Sum(0, data).ok() ? static_cast<double>(ranks->bytes_sent()) : -1.0;
    })[0];
  };
  const double floats = 2.0 * 3 / 4 * 4 * (1 << 20);
  CHECK(bytes(Compression::kBf16) / floats == Approx(0.5).epsilon(0.01));
  CHECK(bytes(Compression::kInt8) / floats == Approx(0.25).epsilon(0.02));
}

TEST_CASE("CompressedSum: goes on from what was collected as if it had not stopped", "[mlp]") {
  std::string collected;
  const auto first = RunRanks(3, [&](Communicator* ranks) {
    CompressedSum sum(Compression::kInt8, kElements, ranks);
    std::vector<float> two = SumsOf(&sum, ranks->rank(), 0, 2);
    const absl::StatusOr<std::string> kept = sum.Collect();
    if (ranks->rank() == 0) collected = kept.ok() ? *kept : "";
    return two;
  });
  const auto rest = RunRanks(3, [&](Communicator* ranks) {
    CompressedSum sum(Compression::kInt8, kElements, ranks);
    return sum.Restore(collected).ok() ? SumsOf(&sum, ranks->rank(), 2, 1) : std::vector<float>{};
  });
  const std::vector<float> whole = Sums(Compression::kInt8, 3, 3)[0];
  CHECK(rest[0] == std::vector<float>(whole.begin() + 2 * kElements, whole.end()));
}

TEST_CASE("CompressedSum: errors of four ranks, restored to one, are in its next sum", "[mlp]") {
  std::string collected;
  const std::vector<float> sums = RunRanks(4, [&](Communicator* ranks) {
    CompressedSum sum(Compression::kInt8, kElements, ranks);
    std::vector<float> one = SumsOf(&sum, ranks->rank(), 0, 1);
    const absl::StatusOr<std::string> kept = sum.Collect();
    if (ranks->rank() == 0) collected = kept.ok() ? *kept : "";
    return one;
  })[0];
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  CompressedSum alone(Compression::kInt8, kElements, sole.get());
  REQUIRE(alone.Restore(collected).ok());
  std::vector<float> left(kElements);
  REQUIRE(alone.Sum(0, left).ok());
  for (std::size_t i = 0; i < kElements; ++i) {
    double exact = 0;
    for (int r = 0; r < 4; ++r) exact += Gradient(r, 0)[i];
    CHECK(sums[i] + left[i] == Approx(exact).margin(1e-6));
  }
}

TEST_CASE("CompressedSum: what is not of its array is refused", "[mlp]") {
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  CompressedSum sum(Compression::kBf16, 32, alone.get());
  CHECK(sum.Restore("").ok());
  for (const std::string& bad : {std::string("x"), std::string(16, '\0'), std::string(16 + 128, 'x')})
    CHECK(sum.Restore(bad).code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace winnow::mlp
