#pragma once

#include <cmath>
#include <string>

#include "base/hash.h"
#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "trainers/gbdt/model/model.h"

namespace winnow::gbdt {

// Two rounds of one tree: a split on the third of three features.
inline Model SmallModel() {
  Model model;
  model.parameters = LogisticParameters();
  model.reading.label = "y";
  model.reading.drop = {"id"};
  model.schema.columns = {{"colour", true, {"blue", "red"}, false}, {"size \"in\"", false, {}, false}};
  model.schema.label_levels = {"no", "yes"};
  model.feature_names = {"colour_blue", "colour_red", "size \"in\""};
  Tree tree;
  tree.nodes.resize(3);
  tree.nodes[0] = {2, 1, 0.1f, true, 0, 3.5f, 7};
  tree.nodes[0].weight = 0.25f;
  tree.nodes[1] = {-1, 0, 0, false, -0.3333333f, 0, 4};
  tree.nodes[2] = {-1, 0, 0, false, 1e-30f, 0, 3};
  model.trees = {tree, tree};
  model.trees[1].nodes[0].threshold = -3.4028235e38f;
  return model;
}

// The same of DART, its second tree with a categorical split below a numeric one.
inline Model DartModel() {
  Model model = SmallModel();
  model.parameters.booster = BoosterKind::kDart;
  model.tree_weights = {0.75f, 0.1f};
  model.schema.columns = {
      {"shape", true, {"cube", "egg", "ring"}, true}, {"b", false, {}, false}, {"c", false, {}, false}};
  model.feature_names = {"shape", "b", "c"};
  Tree& tree = model.trees[1];
  tree.nodes.resize(5);
  tree.nodes[1] = {0, 3, 0, true, 0, 1.5f, 4};
  tree.nodes[1].categorical = true;
  tree.nodes[1].categories_count = 2;
  tree.nodes[3].value = 5;
  tree.nodes[4].value = 6;
  tree.categories = {0, 40};
  return model;
}

// A number in [-1, 1], in thousandths.
inline float Drawn(uint64_t seed, uint64_t number) {
  return static_cast<float>(HashOf(seed, number) % 2001) / 1000 - 1;
}

// A tree of `splits` random splits over four features, the fourth a category in the odd splits.
inline Tree RandomTree(uint64_t seed, int splits, bool categorical) {
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
  for (std::size_t n = tree.nodes.size(); n-- > 0;) {
    Tree::Node& node = tree.nodes[n];
    if (node.feature < 0) {
      node.value = Drawn(seed + 1, n);
      node.cover = 1.5f + Drawn(seed + 2, n);
    } else {
      node.cover = tree.nodes[node.left].cover + tree.nodes[node.left + 1].cover;
    }
  }
  return tree;
}

inline DataSet RandomData(int64_t rows) {
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

inline Model RandomModel(int classes, int parallel, bool dart) {
  Model model;
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

inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace winnow::gbdt
