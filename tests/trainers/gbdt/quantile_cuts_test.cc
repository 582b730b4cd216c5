#include "trainers/gbdt/bins/quantile_cuts.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "tests/catch.h"

namespace winnow::gbdt {
namespace {

const float kMissing = std::nanf("");

TEST_CASE("Cuts: few values get a bin each", "[gbdt]") {
  const FeatureCuts cuts = MakeCuts({3, 1, kMissing, 2, 1, 3}, {}, 256);
  CHECK(cuts.thresholds == std::vector<float>{2, 3});
  CHECK(cuts.has_missing);
  CHECK(cuts.BinOf(0.5f) == 0);
  CHECK(cuts.BinOf(1) == 0);
  CHECK(cuts.BinOf(2) == 1);
  CHECK(cuts.BinOf(2.5f) == 1);
  CHECK(cuts.BinOf(99) == 2);
}

TEST_CASE("Cuts: constant and empty columns have one bin", "[gbdt]") {
  CHECK(MakeCuts({5, 5, 5}, {}, 256).bins() == 1);
  CHECK(MakeCuts({0.0f, -0.0f}, {}, 256).bins() == 1);
  const FeatureCuts none = MakeCuts({kMissing, kMissing}, {}, 256);
  CHECK(none.bins() == 1);
  CHECK(none.has_missing);
}

TEST_CASE("Cuts: many values get bins of equal weight", "[gbdt]") {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i));
  const FeatureCuts even = MakeCuts(values, {}, 10);
  REQUIRE(even.bins() == 10);
  for (int i = 0; i < 9; ++i) CHECK(even.thresholds[i] == static_cast<float>(100 * (i + 1)));
  // The upper half weighs nine times as much: it gets nine of ten bins.
  std::vector<float> weights(1000, 1);
  std::fill(weights.begin() + 500, weights.end(), 9.0f);
  const FeatureCuts weighted = MakeCuts(values, weights, 10);
  REQUIRE(weighted.bins() == 10);
  CHECK(weighted.thresholds[0] == 500);
}

TEST_CASE("Cuts: one heavy value does not starve the others of bins", "[gbdt]") {
  std::vector<float> values(5000, 0.0f);
  for (int i = 1; i <= 1000; ++i) values.push_back(static_cast<float>(i));
  const FeatureCuts cuts = MakeCuts(values, {}, 11);
  REQUIRE(cuts.bins() == 11);
  CHECK(cuts.thresholds[0] == 1);
  CHECK(cuts.thresholds[1] == 101);
}

TEST_CASE("Cuts: the order of rows does not matter", "[gbdt]") {
  std::vector<float> values, weights;
  for (uint64_t i = 0; i < 5000; ++i) {
    values.push_back(i % 7 == 0 ? kMissing : static_cast<float>(HashOf(1, i) % 3000) * 0.1f);
    weights.push_back(static_cast<float>(HashOf(2, i) % 100) * 0.013f);
  }
  const FeatureCuts cuts = MakeCuts(values, weights, 64);
  std::reverse(values.begin(), values.end());
  std::reverse(weights.begin(), weights.end());
  CHECK(MakeCuts(values, weights, 64).thresholds == cuts.thresholds);
  CHECK(cuts.bins() == 64);
}

TEST_CASE("Cuts: values and the missing bin fit a byte at max_bin 256", "[gbdt]") {
  std::vector<float> values;
  for (int i = 0; i < 3000; ++i) values.push_back(static_cast<float>(i));
  CHECK(MakeCuts(values, {}, 256).bins() == 256);
  values.push_back(kMissing);
  CHECK(MakeCuts(values, {}, 256).bins() == 255);
  CHECK(MakeCuts(values, {}, 1000).bins() == 1000);
}

TEST_CASE("Cuts: rows that weigh nothing are no obstacle", "[gbdt]") {
  std::vector<float> values;
  for (int i = 0; i < 300; ++i) values.push_back(static_cast<float>(i));
  const FeatureCuts cuts = MakeCuts(values, std::vector<float>(300, 0.0f), 16);
  CHECK(cuts.bins() <= 16);
}

}  // namespace
}  // namespace winnow::gbdt
