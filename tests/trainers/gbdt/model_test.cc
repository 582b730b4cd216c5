#include "trainers/gbdt/model/model.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/trainers/gbdt/model_samples.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

TEST_CASE("Model: margins are the sums of training, bit for bit, with any number of threads", "[gbdt]") {
  const DataSet data = RandomData(2100);
  ThreadPool pool(3);
  for (const auto& [classes, parallel, dart] : {std::tuple(1, 1, false), {3, 1, false}, {2, 3, true}}) {
    const Model model = RandomModel(classes, parallel, dart);
    std::vector<float> expected(data.rows * classes, BaseMargin(model.parameters));
    for (int64_t t = 0; t < 12; ++t) {
      const float weight = dart ? model.tree_weights[t] : 1;
      for (int64_t i = 0; i < data.rows; ++i)
        expected[t / parallel % classes * data.rows + i] += weight * model.trees[t].Predict(data, i);
    }
    CHECK(PredictMargins(model, data, model.rounds()) == expected);
    CHECK(PredictMargins(model, data, model.rounds(), &pool) == expected);
  }
}

TEST_CASE("Model: the first rounds alone count", "[gbdt]") {
  const DataSet data = RandomData(70);
  Model model = RandomModel(1, 1, false);
  const std::vector<float> of_five = PredictMargins(model, data, 5);
  model.trees.resize(5);
  CHECK(of_five == PredictMargins(model, data, model.rounds()));
  CHECK(PredictMargins(model, data, 0) == std::vector<float>(70, 0.5f));
}

TEST_CASE("Model: categories of any number go where the tree sends them", "[gbdt]") {
  const std::vector<std::vector<int32_t>> listed = {{},      {0},     {31},         {32}, {0, 31, 32, 63, 64},
                                                    {65535}, {65536}, {1, 16777215}};
  std::vector<float> values = {-1, -0.5f, 0.5f, 16777216, 3e9f, INFINITY, -INFINITY, std::nanf("")};
  for (const auto& categories : listed) {
    for (const int32_t category : categories)
      for (const int32_t near : {-1, 0, 1}) values.push_back(static_cast<float>(category + near));
  }
  DataSet data;
  data.rows = static_cast<int64_t>(values.size());
  data.columns = {values};
  Model model;
  model.parameters.objective = ObjectiveKind::kSquaredError;
  model.feature_names = {"a"};
  for (const auto& categories : listed) {
    Tree tree;
    tree.nodes.resize(3);
    tree.nodes[0] = {.feature = 0, .left = 1, .categorical = true};
    tree.nodes[0].missing_left = categories.size() % 2 == 0;
    tree.nodes[0].categories_count = static_cast<int32_t>(categories.size());
    tree.categories = categories;
    model.trees = {tree};
    const std::vector<int32_t> leaves = PredictLeaves(model, data, 1);
    for (int64_t i = 0; i < data.rows; ++i) {
      CAPTURE(categories.size(), values[i]);
      CHECK(leaves[i] == tree.Leaf(data, i));
    }
  }
}

TEST_CASE("Model: the leaves of rows are those whose values they get", "[gbdt]") {
  const DataSet data = RandomData(300);
  const Model model = RandomModel(1, 1, false);
  ThreadPool pool(2);
  const std::vector<int32_t> leaves = PredictLeaves(model, data, 12, &pool);
  REQUIRE(leaves.size() == 12 * 300);
  int wrong = 0;
  for (int64_t t = 0; t < 12; ++t) {
    for (int64_t i = 0; i < 300; ++i) {
      const Tree::Node& leaf = model.trees[t].nodes[leaves[t * 300 + i]];
      wrong += leaf.feature >= 0 || leaf.value != model.trees[t].Predict(data, i);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace winnow::gbdt
