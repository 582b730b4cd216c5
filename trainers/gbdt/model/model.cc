#include "trainers/gbdt/model/model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

// The trees of a model's first rounds, in a layout for the traversal by many rows. Keeps references to the
// model and the data.
class Forest {
 public:
  static constexpr int64_t kBlockRows = 64;

  Forest(const Model& model, int64_t rounds, const DataSet& data);

  // The values of rows [begin, end), at most kBlockRows, of the features that some tree uses:
  // [row][feature of features_].
  std::vector<float> ValuesOf(int64_t begin, int64_t end) const;

  // Adds the trees' values to the margins of these rows, tree after tree for each row, which gives the same
  // bits as training. margins: [class][row].
  void AddMargins(int64_t begin, int64_t end, float* margins) const;
  // leaves: [tree][row].
  void FindLeaves(int64_t begin, int64_t end, int32_t* leaves) const;

 private:
  // A leaf leads to itself: its threshold is NaN.
  struct Node {
    float threshold = 0;   // values from it on go right
    uint32_t feature = 0;  // of features_
    uint32_t left = 0;     // within the tree
    uint32_t missing_right : 1 = 0;
    uint32_t set : 31 = 0;  // of sets_: the categories that go right; 0: the threshold decides
  };
  // A set of categories: a bit for each of those below its limit.
  struct Set {
    std::size_t first_word = 0;
    float limit = 0;
  };
  enum class Way {
    kTogether,  // all rows take as many steps as the tree is deep
    kApart,     // a row at its leaf takes no more steps
    kByModel,   // the model's own tree, a row at a time
  };
  struct Planted {
    std::size_t root = 0;  // of nodes_
    int depth = 0;         // steps to the deepest leaf
    Way way = Way::kByModel;
  };

  Planted Plant(const Tree& tree);
  bool AddSet(const Tree& tree, const Tree::Node& node);
  uint32_t GoesRight(const Node& node, float value) const;
  void Walk(std::size_t t, const std::vector<float>& values, int64_t begin, int64_t count,
            uint32_t* at) const;

  const Model& model_;
  const DataSet& data_;
  std::vector<int32_t> features_;  // those that some tree uses
  std::vector<Node> nodes_;
  std::vector<float> values_;  // of nodes_ that are leaves
  std::vector<Set> sets_ = {{}};
  std::vector<uint32_t> words_;
  std::vector<Planted> trees_;
};

// Deeper trees are seldom balanced, and most rows would repeat their leaf.
constexpr int kDeepestTogether = 12;
constexpr std::size_t kMostWords = std::size_t{1} << 22;  // of sets

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

Forest::Forest(const Model& model, int64_t rounds, const DataSet& data) : model_(model), data_(data) {
  const int64_t trees = rounds * model.trees_per_round();
  for (int64_t t = 0; t < trees; ++t) {
    for (const Tree::Node& node : model.trees[t].nodes) {
      if (node.feature >= 0) features_.push_back(node.feature);
    }
  }
  std::sort(features_.begin(), features_.end());
  features_.erase(std::unique(features_.begin(), features_.end()), features_.end());
  for (int64_t t = 0; t < trees; ++t) trees_.push_back(Plant(model.trees[t]));
}

Forest::Planted Forest::Plant(const Tree& tree) {
  Planted planted{nodes_.size(), Depth(tree), Way::kTogether};
  if (planted.depth > kDeepestTogether || HasCategories(tree)) {
    // A large tree that few rows pass is not worth its copy.
    if (static_cast<int64_t>(tree.nodes.size()) > data_.rows) return {};
    planted.way = Way::kApart;
  }
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    const Tree::Node& node = tree.nodes[n];
    values_.push_back(node.value);
    if (node.feature < 0) {
      nodes_.push_back({std::numeric_limits<float>::quiet_NaN(), 0, static_cast<uint32_t>(n), 0, 0});
      continue;
    }
    const auto at = std::lower_bound(features_.begin(), features_.end(), node.feature);
    // No value is below a NaN threshold: all go right.
    const float threshold =
        std::isnan(node.threshold) ? -std::numeric_limits<float>::infinity() : node.threshold;
    nodes_.push_back({threshold, static_cast<uint32_t>(at - features_.begin()),
                      static_cast<uint32_t>(node.left), node.missing_left ? 0u : 1u, 0});
    if (!node.categorical) continue;
    if (!AddSet(tree, node)) {
      nodes_.resize(planted.root);
      values_.resize(planted.root);
      return {};
    }
    nodes_.back().set = static_cast<uint32_t>(sets_.size() - 1);
  }
  return planted;
}

// Returns whether there is room for it.
bool Forest::AddSet(const Tree& tree, const Tree::Node& node) {
  constexpr std::size_t kBits = 32;
  constexpr int32_t kMost = 1 << 16;
  const int32_t* const first = tree.categories.data() + node.categories_begin;
  const int32_t* const last = first + node.categories_count;
  const int32_t limit = first == last ? 0 : std::max(0, last[-1]) + 1;
  if (limit > kMost || words_.size() + kMost / kBits > kMostWords) return false;
  sets_.push_back({words_.size(), static_cast<float>(limit)});
  words_.resize(words_.size() + (static_cast<std::size_t>(limit) + kBits - 1) / kBits, 0);
  for (const int32_t* category = first; category != last; ++category) {
    if (*category < 0) continue;
    const auto bit = static_cast<std::size_t>(*category);
    words_[sets_.back().first_word + bit / kBits] |= uint32_t{1} << bit % kBits;
  }
  return true;
}

std::vector<float> Forest::ValuesOf(int64_t begin, int64_t end) const {
  const int64_t count = end - begin;
  const std::size_t width = features_.empty() ? 1 : features_.size();
  std::vector<float> values(kBlockRows * width, 0);
  for (std::size_t f = 0; f < features_.size(); ++f) {
    if (data_.IsSparse(features_[f])) {
      const SparseColumn& column = data_.sparse[features_[f]];
      const auto [first, last] = column.EntriesOf(begin, end);
      for (int64_t i = 0; i < count; ++i) values[i * width + f] = column.rest;
      for (std::size_t at = first; at < last; ++at)
        values[(column.rows[at] - begin) * width + f] = column.values[at];
      continue;
    }
    const float* column = data_.columns[features_[f]].data() + begin;
    for (int64_t i = 0; i < count; ++i) values[i * width + f] = column[i];
  }
  return values;
}

inline uint32_t Forest::GoesRight(const Node& node, float value) const {
  if (node.set == 0) {
    const uint32_t missing = std::isnan(value);
    return static_cast<uint32_t>(value >= node.threshold) | (missing & node.missing_right);
  }
  if (std::isnan(value)) return node.missing_right;
  const Set& set = sets_[node.set];
  if (!(value >= 0 && value < set.limit)) return 0;
  const auto category = static_cast<std::size_t>(value);
  return words_[set.first_word + category / 32] >> category % 32 & 1;
}

// at: the leaf of each row within the tree.
void Forest::Walk(std::size_t t, const std::vector<float>& values, int64_t begin, int64_t count,
                  uint32_t* at) const {
  const Planted& tree = trees_[t];
  if (tree.way == Way::kByModel) {
    for (int64_t i = 0; i < count; ++i) at[i] = static_cast<uint32_t>(model_.trees[t].Leaf(data_, begin + i));
    return;
  }
  const std::size_t width = features_.empty() ? 1 : features_.size();
  const Node* const nodes = nodes_.data() + tree.root;
  std::fill_n(at, kBlockRows, 0);
  if (tree.way == Way::kTogether) {
    for (int step = 0; step < tree.depth; ++step) {
      for (int64_t i = 0; i < count; ++i) {
        const Node& node = nodes[at[i]];
        const float value = values[i * width + node.feature];
        const uint32_t missing = std::isnan(value);
        at[i] = node.left + (static_cast<uint32_t>(value >= node.threshold) | (missing & node.missing_right));
      }
    }
    return;
  }
  uint8_t walking[kBlockRows];
  for (int64_t i = 0; i < count; ++i) walking[i] = static_cast<uint8_t>(i);
  for (int64_t left = count, still = 0; left > 0; left = std::exchange(still, 0)) {
    for (int64_t w = 0; w < left; ++w) {
      const uint8_t i = walking[w];
      const Node& node = nodes[at[i]];
      walking[still] = i;
      still += node.left != at[i];
      at[i] = node.left + GoesRight(node, values[i * width + node.feature]);
    }
  }
}

void Forest::AddMargins(int64_t begin, int64_t end, float* margins) const {
  const int64_t count = end - begin;
  const std::vector<float> values = ValuesOf(begin, end);
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    const float weight = model_.tree_weights.empty() ? 1 : model_.tree_weights[t];
    float* margin = margins + model_.class_of(static_cast<int64_t>(t)) * data_.rows + begin;
    uint32_t at[kBlockRows];
    Walk(t, values, begin, count, at);
    if (trees_[t].way == Way::kByModel) {
      for (int64_t i = 0; i < count; ++i) margin[i] += weight * model_.trees[t].nodes[at[i]].value;
    } else {
      const float* of_nodes = values_.data() + trees_[t].root;
      for (int64_t i = 0; i < count; ++i) margin[i] += weight * of_nodes[at[i]];
    }
  }
}

void Forest::FindLeaves(int64_t begin, int64_t end, int32_t* leaves) const {
  const std::vector<float> values = ValuesOf(begin, end);
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    uint32_t at[kBlockRows];
    Walk(t, values, begin, end - begin, at);
    std::copy_n(at, end - begin, leaves + static_cast<int64_t>(t) * data_.rows + begin);
  }
}

constexpr int64_t kRowsOfTask = 16 * Forest::kBlockRows;

}  // namespace

std::vector<float> PredictMargins(const Model& model, const DataSet& data, int64_t rounds, ThreadPool* pool) {
  const int classes = model.parameters.classes();
  std::vector<float> margins(static_cast<std::size_t>(data.rows) * classes, BaseMargin(model.parameters));
  const Forest forest(model, rounds, data);
  ForRows(data.rows, kRowsOfTask, pool, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; block += Forest::kBlockRows)
      forest.AddMargins(block, std::min(end, block + Forest::kBlockRows), margins.data());
  });
  return margins;
}

std::vector<int32_t> PredictLeaves(const Model& model, const DataSet& data, int64_t rounds,
                                   ThreadPool* pool) {
  const int64_t trees = rounds * model.trees_per_round();
  std::vector<int32_t> leaves(static_cast<std::size_t>(trees * data.rows));
  const Forest forest(model, rounds, data);
  ForRows(data.rows, kRowsOfTask, pool, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; block += Forest::kBlockRows)
      forest.FindLeaves(block, std::min(end, block + Forest::kBlockRows), leaves.data());
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
