#include "worker/gbdt/model.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/worker/gbdt/model_samples.h"
#include "worker/gbdt/hash.h"
#include "worker/gbdt/objective.h"

namespace winnow {
namespace {

float Drawn(uint64_t seed, uint64_t number) {
  return static_cast<float>(HashOf(seed, number) % 2001) / 1000 - 1;  // [-1, 1], in thousandths
}

// A tree of `splits` random splits over four features, the fourth a category in the odd splits.
Tree RandomTree(uint64_t seed, int splits, bool categorical) {
  Tree tree;
  tree.nodes.resize(1);
  for (int s = 0; s < splits; ++s) {
    std::size_t at = HashOf(seed, s, 0) % tree.nodes.size();
    while (tree.nodes[at].feature >= 0) at = tree.nodes[at].left + HashOf(seed, s, at) % 2;
    const auto left = static_cast<int32_t>(tree.nodes.size());
    tree.nodes.resize(tree.nodes.size() + 2);
    Tree::Node& node = tree.nodes[at];
    node.feature = static_cast<int32_t>(HashOf(seed, s, 1) % 4);
    node.left = left;
    node.threshold = Drawn(seed, s);
    node.missing_left = HashOf(seed, s, 2) % 2 == 0;
    node.categorical = categorical && node.feature == 3 && s % 2 == 1;
    if (!node.categorical) continue;
    node.categories_begin = static_cast<int32_t>(tree.categories.size());
    node.categories_count = 3;
    for (int category : {0, 2, 3}) tree.categories.push_back(category);
  }
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    if (tree.nodes[n].feature < 0) tree.nodes[n].value = Drawn(seed + 1, n);
  }
  return tree;
}

DataSet RandomData(int64_t rows) {
  DataSet data;
  data.rows = rows;
  data.columns.assign(4, std::vector<float>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    for (int f = 0; f < 3; ++f) data.columns[f][i] = Drawn(100 + f, i);
    data.columns[3][i] = static_cast<float>(HashOf(9, i) % 5);
    data.columns[HashOf(10, i) % 8 % 4][i] = std::nanf("");
  }
  data.columns[0][0] = INFINITY;
  data.columns[1][0] = -INFINITY;
  return data;
}

GbdtModel RandomModel(int classes, int parallel, bool dart) {
  GbdtModel model;
  model.parameters.objective = classes > 1 ? ObjectiveKind::kSoftProb : ObjectiveKind::kSquaredError;
  model.parameters.num_class = classes;
  model.parameters.num_parallel_tree = parallel;
  model.feature_names = {"a", "b", "c", "d"};
  for (int t = 0; t < 12; ++t) {
    model.trees.push_back(RandomTree(t, t % 3 == 0 ? 200 : t, t % 4 == 1));
    if (dart) model.tree_weights.push_back(1.0f / static_cast<float>(t + 1));
  }
  return model;
}

TEST_CASE("Model: margins are the sums of training, bit for bit, with any number of threads", "[gbdt]") {
  const DataSet data = RandomData(2100);
  ThreadPool pool(3);
  for (const auto& [classes, parallel, dart] : {std::tuple(1, 1, false), {3, 1, false}, {2, 3, true}}) {
    const GbdtModel model = RandomModel(classes, parallel, dart);
    std::vector<float> expected(data.rows * classes, BaseMargin(model.parameters));
    for (int64_t t = 0; t < 12; ++t) {
      const float weight = dart ? model.tree_weights[t] : 1;
      for (int64_t i = 0; i < data.rows; ++i)
        expected[t / parallel % classes * data.rows + i] += weight * model.trees[t].Predict(data.columns, i);
    }
    CHECK(PredictMargins(model, data, model.rounds()) == expected);
    CHECK(PredictMargins(model, data, model.rounds(), &pool) == expected);
  }
}

TEST_CASE("Model: the first rounds alone count", "[gbdt]") {
  const DataSet data = RandomData(70);
  GbdtModel model = RandomModel(1, 1, false);
  const std::vector<float> of_five = PredictMargins(model, data, 5);
  model.trees.resize(5);
  CHECK(of_five == PredictMargins(model, data, model.rounds()));
  CHECK(PredictMargins(model, data, 0) == std::vector<float>(70, 0.5f));
}

TEST_CASE("Model: the leaves of rows are those whose values they get", "[gbdt]") {
  const DataSet data = RandomData(300);
  const GbdtModel model = RandomModel(1, 1, false);
  ThreadPool pool(2);
  const std::vector<int32_t> leaves = PredictLeaves(model, data, 12, &pool);
  REQUIRE(leaves.size() == 12 * 300);
  int wrong = 0;
  for (int64_t t = 0; t < 12; ++t) {
    for (int64_t i = 0; i < 300; ++i) {
      const Tree::Node& leaf = model.trees[t].nodes[leaves[t * 300 + i]];
      wrong += leaf.feature >= 0 || leaf.value != model.trees[t].Predict(data.columns, i);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace winnow
