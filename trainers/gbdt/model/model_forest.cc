#include "trainers/gbdt/model/model_forest.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace winnow::gbdt {
namespace {

// Deeper trees are seldom balanced, and most rows would repeat their leaf.
constexpr int kDeepest = 12;

int Depth(const Tree& tree) {
  std::vector<int> depth(tree.nodes.size(), 0);
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    if (tree.nodes[n].feature < 0) continue;
    depth[tree.nodes[n].left] = depth[tree.nodes[n].left + 1] = depth[n] + 1;
  }
  return *std::max_element(depth.begin(), depth.end());
}

bool HasCategories(const Tree& tree) {
  return std::any_of(tree.nodes.begin(), tree.nodes.end(), [](const Tree::Node& n) { return n.categorical; });
}

}  // namespace

Forest::Forest(const Model& model, int64_t rounds) : model_(model) {
  const int64_t trees = rounds * model.trees_per_round();
  for (int64_t t = 0; t < trees; ++t) {
    for (const Tree::Node& node : model.trees[t].nodes) {
      if (node.feature >= 0) features_.push_back(node.feature);
    }
  }
  std::sort(features_.begin(), features_.end());
  features_.erase(std::unique(features_.begin(), features_.end()), features_.end());
  for (int64_t t = 0; t < trees; ++t) Plant(model.trees[t]);
}

void Forest::Plant(const Tree& tree) {
  const auto root = static_cast<uint32_t>(nodes_.size());
  const int depth = Depth(tree);
  if (depth > kDeepest || HasCategories(tree)) {
    trees_.push_back({root, -1});
    return;
  }
  trees_.push_back({root, depth});
  for (const Tree::Node& node : tree.nodes) {
    const auto self = static_cast<uint32_t>(nodes_.size());
    values_.push_back(node.value);
    if (node.feature < 0) {
      nodes_.push_back({std::numeric_limits<float>::quiet_NaN(), 0, self, 0});
      continue;
    }
    const auto at = std::lower_bound(features_.begin(), features_.end(), node.feature);
    // No value is below a NaN threshold: all go right.
    const float threshold =
        std::isnan(node.threshold) ? -std::numeric_limits<float>::infinity() : node.threshold;
    nodes_.push_back({threshold, static_cast<uint32_t>(at - features_.begin()),
                      root + static_cast<uint32_t>(node.left), node.missing_left ? 0u : 1u});
  }
}

void Forest::AddMargins(const std::vector<std::vector<float>>& columns, int64_t begin, int64_t end,
                        int64_t rows, float* margins) const {
  const int64_t count = end - begin;
  const std::size_t width = features_.empty() ? 1 : features_.size();
  std::vector<float> values(kBlockRows * width, 0);  // [row][feature of features_]
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const float* column = columns[features_[f]].data() + begin;
    for (int64_t i = 0; i < count; ++i) values[i * width + f] = column[i];
  }
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    const float weight = model_.tree_weights.empty() ? 1 : model_.tree_weights[t];
    float* margin = margins + model_.class_of(static_cast<int64_t>(t)) * rows + begin;
    if (trees_[t].depth < 0) {
      for (int64_t i = 0; i < count; ++i) margin[i] += weight * model_.trees[t].Predict(columns, begin + i);
      continue;
    }
    uint32_t at[kBlockRows];
    std::fill_n(at, kBlockRows, trees_[t].root);
    for (int step = 0; step < trees_[t].depth; ++step) {
      for (int64_t i = 0; i < count; ++i) {
        const Node& node = nodes_[at[i]];
        const float value = values[i * width + node.feature];
        const uint32_t missing = std::isnan(value);
        at[i] = node.left + (static_cast<uint32_t>(value >= node.threshold) | (missing & node.missing_right));
      }
    }
    for (int64_t i = 0; i < count; ++i) margin[i] += weight * values_[at[i]];
  }
}

}  // namespace winnow::gbdt
