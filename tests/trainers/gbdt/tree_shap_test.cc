#include "trainers/gbdt/model/tree_shap.h"

#include <bit>

#include "tests/catch.h"
#include "tests/trainers/gbdt/model_samples.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

constexpr int kFeatures = 4;

// What a tree is expected to say below `n` of a row of which only the features in the set `known` are known.
double Expected(const Tree& tree, int32_t n, const DataSet& data, int64_t row, unsigned known) {
  const Tree::Node& node = tree.nodes[n];
  if (node.feature < 0) return node.value;
  const double left_cover = tree.nodes[node.left].cover, right_cover = tree.nodes[node.left + 1].cover;
  const double left_share = left_cover / (left_cover + right_cover);
  if (known >> node.feature & 1)
    return Expected(tree, node.left + (tree.GoesLeft(node, data.columns[node.feature][row]) ? 0 : 1), data,
                    row, known);
  return left_share * Expected(tree, node.left, data, row, known) +
         (1 - left_share) * Expected(tree, node.left + 1, data, row, known);
}

// Shapley's value of a feature by its definition: over all sets of other features.
double ShapleyValue(const Tree& tree, const DataSet& data, int64_t row, int feature) {
  constexpr double kFactorial[] = {1, 1, 2, 6, 24};
  double value = 0;
  for (unsigned others = 0; others < 1u << kFeatures; ++others) {
    if (others >> feature & 1) continue;
    const int size = std::popcount(others);
    value += kFactorial[size] * kFactorial[kFeatures - size - 1] / kFactorial[kFeatures] *
             (Expected(tree, 0, data, row, others | 1u << feature) - Expected(tree, 0, data, row, others));
  }
  return value;
}

TEST_CASE("TreeShap: contributions are Shapley values by their definition", "[gbdt]") {
  const DataSet data = RandomData(40);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    Model model = RandomModel(1, 1, false);
    model.trees = {RandomTree(seed, static_cast<int>(1 + 3 * seed), seed % 2 == 1)};
    const std::vector<float> contributions = PredictContributions(model, data, 1);
    double worst = 0;
    for (int64_t row = 0; row < data.rows; ++row) {
      for (int f = 0; f < kFeatures; ++f)
        worst = std::max(worst, std::fabs(contributions[row * (kFeatures + 1) + f] -
                                          ShapleyValue(model.trees[0], data, row, f)));
    }
    CHECK(worst < 1e-6);
    CHECK(contributions[kFeatures] == Approx(0.5 + Expected(model.trees[0], 0, data, 0, 0)));
  }
}

TEST_CASE("TreeShap: contributions add up to the margins, with weights and classes", "[gbdt]") {
  const DataSet data = RandomData(150);
  ThreadPool pool(3);
  const Model model = RandomModel(2, 3, true);
  const std::vector<float> contributions = PredictContributions(model, data, model.rounds(), &pool);
  const std::vector<float> margins = PredictMargins(model, data, model.rounds());
  CHECK(contributions == PredictContributions(model, data, model.rounds()));
  double worst = 0;
  for (int64_t i = 0; i < data.rows; ++i) {
    for (int k = 0; k < 2; ++k) {
      double sum = 0;
      for (int f = 0; f <= kFeatures; ++f) sum += contributions[(i * 2 + k) * (kFeatures + 1) + f];
      worst = std::max(worst, std::fabs(sum - margins[k * data.rows + i]));
    }
  }
  CHECK(worst < 1e-5);
}

TEST_CASE("TreeShap: a model without trees says where rows start", "[gbdt]") {
  Model model = RandomModel(1, 1, false);
  model.trees.clear();
  CHECK(PredictContributions(model, RandomData(1), 0) == std::vector<float>{0, 0, 0, 0, 0.5f});
}

TEST_CASE("TreeShap: nodes that no row reached give no nonsense", "[gbdt]") {
  Model model = RandomModel(1, 1, false);
  model.trees.resize(4);
  for (Tree& tree : model.trees) {
    for (Tree::Node& node : tree.nodes) node.cover = 0;
  }
  for (float contribution : PredictContributions(model, RandomData(20), 4))
    CHECK(std::isfinite(contribution));
}

}  // namespace
}  // namespace winnow::gbdt
