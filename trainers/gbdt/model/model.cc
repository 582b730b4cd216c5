#include "trainers/gbdt/model/model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

// The trees of a model's first rounds, in a layout for the traversal by many rows. Keeps a reference to the
// model.
class Forest {
 public:
  static constexpr int64_t kBlockRows = 64;

  Forest(const Model& model, int64_t rounds);

  // Adds the trees' values to the margins of rows [begin, end), at most kBlockRows, tree after tree for each
  // row, which gives the same bits as training. margins: [class][row].
  void AddMargins(const DataSet& data, int64_t begin, int64_t end, float* margins) const;

 private:
  // A leaf leads to itself, so that all rows take as many steps as the tree is deep: its threshold is NaN.
  struct Node {
    float threshold = 0;   // values from it on go right
    uint32_t feature = 0;  // of features_
    uint32_t left = 0;
    uint32_t missing_right = 0;  // 0 or 1
  };
  struct Planted {
    uint32_t root = 0;  // of nodes_
    int depth = 0;      // steps to the deepest leaf; -1: traverses the model's own tree by single rows
  };

  void Plant(const Tree& tree);

  const Model& model_;
  std::vector<int32_t> features_;  // those that some tree uses
  std::vector<Node> nodes_;
  std::vector<float> values_;  // of nodes_ that are leaves
  std::vector<Planted> trees_;
};

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

void Forest::AddMargins(const DataSet& data, int64_t begin, int64_t end, float* margins) const {
  const int64_t count = end - begin;
  const std::size_t width = features_.empty() ? 1 : features_.size();
  std::vector<float> values(kBlockRows * width, 0);  // [row][feature of features_]
  for (std::size_t f = 0; f < features_.size(); ++f) {
    if (data.IsSparse(features_[f])) {
      const SparseColumn& column = data.sparse[features_[f]];
      const auto [first, last] = column.EntriesOf(begin, end);
      for (int64_t i = 0; i < count; ++i) values[i * width + f] = column.rest;
      for (std::size_t at = first; at < last; ++at)
        values[(column.rows[at] - begin) * width + f] = column.values[at];
      continue;
    }
    const float* column = data.columns[features_[f]].data() + begin;
    for (int64_t i = 0; i < count; ++i) values[i * width + f] = column[i];
  }
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    const float weight = model_.tree_weights.empty() ? 1 : model_.tree_weights[t];
    float* margin = margins + model_.class_of(static_cast<int64_t>(t)) * data.rows + begin;
    if (trees_[t].depth < 0) {
      for (int64_t i = 0; i < count; ++i) margin[i] += weight * model_.trees[t].Predict(data, begin + i);
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

constexpr int64_t kRowsOfTask = 16 * Forest::kBlockRows;

}  // namespace

std::vector<float> PredictMargins(const Model& model, const DataSet& data, int64_t rounds, ThreadPool* pool) {
  const int classes = model.parameters.classes();
  std::vector<float> margins(static_cast<std::size_t>(data.rows) * classes, BaseMargin(model.parameters));
  const Forest forest(model, rounds);
  ForRows(data.rows, kRowsOfTask, pool, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; block += Forest::kBlockRows)
      forest.AddMargins(data, block, std::min(end, block + Forest::kBlockRows), margins.data());
  });
  return margins;
}

std::vector<int32_t> PredictLeaves(const Model& model, const DataSet& data, int64_t rounds,
                                   ThreadPool* pool) {
  const int64_t trees = rounds * model.trees_per_round();
  std::vector<int32_t> leaves(static_cast<std::size_t>(trees * data.rows));
  ForRows(data.rows, kRowsOfTask, pool, [&](int64_t begin, int64_t end) {
    for (int64_t t = 0; t < trees; ++t) {
      for (int64_t i = begin; i < end; ++i) leaves[t * data.rows + i] = model.trees[t].Leaf(data, i);
    }
  });
  return leaves;
}

void ForRows(int64_t rows, int64_t piece, ThreadPool* pool,
             const std::function<void(int64_t begin, int64_t end)>& work) {
  const auto tasks = static_cast<int>((rows + piece - 1) / piece);
  const auto task = [&](int t, int) { work(t * piece, std::min(rows, (t + 1) * piece)); };
  if (pool != nullptr) {
    pool->Run(tasks, task);
  } else {
    for (int t = 0; t < tasks; ++t) task(t, 0);
  }
}

absl::StatusOr<ImportanceKind> ImportanceKindOf(const std::string& name) {
  if (name == "weight") return ImportanceKind::kWeight;
  if (name == "gain") return ImportanceKind::kGain;
  if (name == "cover") return ImportanceKind::kCover;
  if (name == "total_gain") return ImportanceKind::kTotalGain;
  if (name == "total_cover") return ImportanceKind::kTotalCover;
  return absl::InvalidArgumentError("importance " + name +
                                    ": expected weight, gain, cover, total_gain or total_cover");
}

std::vector<Importance> FeatureImportance(const Model& model, ImportanceKind kind) {
  struct Totals {
    double splits = 0, gain = 0, cover = 0;
  };
  std::map<int32_t, Totals> totals;
  for (const Tree& tree : model.trees) {
    for (const Tree::Node& node : tree.nodes) {
      if (node.feature < 0) continue;
      Totals& of_feature = totals[node.feature];
      of_feature.splits += 1;
      of_feature.gain += node.gain;
      of_feature.cover += node.cover;
    }
  }
  std::vector<Importance> importance;
  for (const auto& [feature, sums] : totals) {
    const bool of_gain = kind == ImportanceKind::kGain || kind == ImportanceKind::kTotalGain;
    const bool average = kind == ImportanceKind::kGain || kind == ImportanceKind::kCover;
    const double total = of_gain ? sums.gain : sums.cover;
    const double score = average ? total / sums.splits : total;
    importance.push_back({feature, kind == ImportanceKind::kWeight ? sums.splits : score});
  }
  std::stable_sort(importance.begin(), importance.end(),
                   [](const Importance& a, const Importance& b) { return a.score > b.score; });
  return importance;
}

}  // namespace winnow::gbdt
