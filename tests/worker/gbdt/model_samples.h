#pragma once

#include <string>

#include "tests/catch.h"
#include "tests/worker/gbdt/sample_data.h"
#include "worker/gbdt/model.h"

namespace winnow {

// Two rounds of one tree: a split on the third of three features.
inline GbdtModel SmallModel() {
  GbdtModel model;
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
inline GbdtModel DartModel() {
  GbdtModel model = SmallModel();
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

inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace winnow
