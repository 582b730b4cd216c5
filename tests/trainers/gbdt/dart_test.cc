#include "trainers/gbdt/dart.h"

#include <algorithm>
#include <set>

#include "tests/catch.h"

namespace winnow::gbdt {
namespace {

GbdtParameters Dart(double rate_drop) {
  GbdtParameters parameters;
  parameters.booster = BoosterKind::kDart;
  parameters.rate_drop = rate_drop;
  return parameters;
}

// Weights after three rounds that drop every tree before them.
std::vector<float> WeightsOfThreeRounds(const GbdtParameters& parameters, int64_t trees_of_round) {
  std::vector<float> weights;
  for (int64_t round = 0; round < 3; ++round)
    WeighNewTrees(parameters, DroppedTrees(parameters, round, weights), trees_of_round, &weights);
  return weights;
}

// The figures are those of XGBoost 1.7.4 for eta = 0.3, rate_drop = 1.
TEST_CASE("Dart: weights are XGBoost's for normalize_type=tree", "[gbdt]") {
  CHECK(WeightsOfThreeRounds(Dart(1), 1) == std::vector<float>{0.6688964f, 0.6688964f, 0.43478262f});
  const std::vector<float> of_classes = WeightsOfThreeRounds(Dart(1), 6);  // 3 classes, 2 parallel trees
  CHECK(of_classes[0] == 0.9876204f);
  CHECK(of_classes[6] == 0.16460341f);
  CHECK(of_classes[17] == 0.08298755f);
}

TEST_CASE("Dart: weights are XGBoost's for normalize_type=forest", "[gbdt]") {
  GbdtParameters parameters = Dart(1);
  parameters.dart_forest = true;
  CHECK(WeightsOfThreeRounds(parameters, 1) == std::vector<float>{0.591716f, 0.591716f, 0.7692308f});
}

TEST_CASE("Dart: a round that drops nothing adds trees of weight 1", "[gbdt]") {
  CHECK(WeightsOfThreeRounds(Dart(0), 2) == std::vector<float>(6, 1));
}

TEST_CASE("Dart: about rate_drop of the trees are dropped, others each round", "[gbdt]") {
  const std::vector<float> weights(4000, 0.5f);
  const std::vector<int64_t> first = DroppedTrees(Dart(0.25), 7, weights);
  CHECK(std::is_sorted(first.begin(), first.end()));
  CHECK(first.size() > 900);
  CHECK(first.size() < 1100);
  CHECK(DroppedTrees(Dart(0.25), 7, weights) == first);
  CHECK(DroppedTrees(Dart(0.25), 8, weights) != first);
}

TEST_CASE("Dart: whether a tree is dropped does not depend on how many trees follow", "[gbdt]") {
  std::vector<int64_t> of_many = DroppedTrees(Dart(0.25), 3, std::vector<float>(200, 1));
  of_many.erase(std::lower_bound(of_many.begin(), of_many.end(), 100), of_many.end());
  CHECK(DroppedTrees(Dart(0.25), 3, std::vector<float>(100, 1)) == of_many);
}

TEST_CASE("Dart: skip_drop is the share of rounds without drops", "[gbdt]") {
  GbdtParameters parameters = Dart(1);
  parameters.skip_drop = 0.3;
  int skipped = 0;
  for (int64_t round = 0; round < 2000; ++round) skipped += DroppedTrees(parameters, round, {1, 1}).empty();
  CHECK(skipped > 540);
  CHECK(skipped < 660);
}

TEST_CASE("Dart: one_drop drops one tree where none was drawn, but none where none is", "[gbdt]") {
  GbdtParameters parameters = Dart(0);
  parameters.one_drop = true;
  CHECK(DroppedTrees(parameters, 0, {}).empty());
  std::set<int64_t> seen;
  for (int64_t round = 0; round < 100; ++round) {
    const std::vector<int64_t> dropped = DroppedTrees(parameters, round, {1, 1, 1});
    REQUIRE(dropped.size() == 1);
    seen.insert(dropped[0]);
  }
  CHECK(seen == std::set<int64_t>{0, 1, 2});
}

TEST_CASE("Dart: sample_type=weighted drops heavy trees more often", "[gbdt]") {
  GbdtParameters parameters = Dart(0.25);
  parameters.dart_weighted_sample = true;
  int heavy = 0, light = 0;
  for (int64_t round = 0; round < 4000; ++round) {
    for (int64_t tree : DroppedTrees(parameters, round, {0.3f, 0.1f})) ++(tree == 0 ? heavy : light);
  }
  CHECK(heavy > 1400);  // 4000 * 0.25 * 2 * 0.75 = 1500
  CHECK(heavy < 1600);
  CHECK(light > 430);  // 500
  CHECK(light < 570);
}

}  // namespace
}  // namespace winnow::gbdt
