#include "trainers/gbdt/tree_sums.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "trainers/gbdt/objective/objective.h"
#include "trainers/gbdt/tree/tree_builder.h"

namespace winnow::gbdt {
namespace {

constexpr double kLeafTime = 0.7;          // minimum ns to add a leaf's value to a row's margin
constexpr int64_t kRowsPerTask = 1 << 10;  // their margins stay in the first cache

template <typename Number>
std::vector<Number> LeafOfRows(const Tree& tree, const RowPartition& partition, int64_t rows) {
  std::vector<Number> leaves(rows);
  Number leaf = 0;
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    if (tree.nodes[n].feature >= 0) continue;
    const int node = static_cast<int>(n);
    for (int64_t i = 0; i < partition.count(node); ++i) leaves[partition.rows(node)[i]] = leaf;
    ++leaf;
  }
  return leaves;
}

template <typename Number>
std::vector<Number> LeafOfNodes(const Tree& tree, const std::vector<int32_t>& node_of_row) {
  std::vector<Number> leaf_of_node(tree.nodes.size());
  Number leaf = 0;
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    if (tree.nodes[n].feature < 0) leaf_of_node[n] = leaf++;
  }
  std::vector<Number> leaves;
  leaves.reserve(node_of_row.size());
  for (const int32_t node : node_of_row) leaves.push_back(leaf_of_node[node]);
  return leaves;
}

template <typename Number>
void AddValues(const float* values, const Number* leaves, int64_t rows, float* margin) {
  for (int64_t i = 0; i < rows; ++i) margin[i] += values[leaves[i]];
}

}  // namespace

int64_t LeavesOf(const Tree& tree) {
  return std::count_if(tree.nodes.begin(), tree.nodes.end(),
                       [](const Tree::Node& node) { return node.feature < 0; });
}

void AddLeaves(const Tree& tree, float weight, const RowPartition& rows, ThreadPool* pool, float* margin) {
  const bool alone = pool->threads() == 1;
  pool->Run(
      alone ? 1 : static_cast<int>(tree.nodes.size()),
      [&](int task, int) {
        const std::size_t first = alone ? 0 : task, last = alone ? tree.nodes.size() : first + 1;
        for (std::size_t n = first; n < last; ++n) {
          if (tree.nodes[n].feature >= 0) continue;
          const float value = weight * tree.nodes[n].value;
          const uint32_t* row = rows.rows(static_cast<int>(n));
          for (int64_t i = 0; i < rows.count(static_cast<int>(n)); ++i) margin[row[i]] += value;
        }
      },
      kLeafTime * static_cast<double>(rows.count(0)));
}

TreeSums::TreeSums(const Model& model, const std::vector<FeatureCuts>& cuts, const BinnedRows& rows,
                   ThreadPool* pool, int64_t most_bytes)
    : model_(model), cuts_(cuts), rows_(rows), pool_(pool), bytes_left_(most_bytes) {}

void TreeSums::FollowValues(const DataSet& values) {
  values_ = &values;
  value_trees_ = static_cast<int64_t>(model_.trees.size());
}

std::vector<int32_t> TreeSums::NodesByValues(const Tree& tree) const {
  std::vector<int32_t> nodes(rows_.targets.rows);
  ForRows(rows_.targets.rows, kRowsPerTask, pool_, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) nodes[row] = tree.Leaf(*values_, row);
  });
  return nodes;
}

void TreeSums::Divide(const Tree& tree, RowPartition* partition) const {
  partition->ResetToAll(rows_.targets.rows);
  std::vector<RowPartition::Cut> cuts;
  for (std::vector<int> level = {0}, next; !level.empty(); level = std::exchange(next, {})) {
    cuts.clear();
    for (int id : level) {
      const Tree::Node& node = tree.nodes[id];
      if (node.feature < 0) continue;
      cuts.push_back({id, node.left, node.feature, LeftBins(tree, node, cuts_[node.feature])});
      next.push_back(node.left);
      next.push_back(node.left + 1);
    }
    partition->Apply(cuts, pool_);
  }
}

bool TreeSums::KeepNext(RowPartition* partition) {
  const Tree& tree = model_.trees[kept_.size()];
  const int64_t count = rows_.targets.rows, leaves = LeavesOf(tree);
  const bool narrow = leaves <= std::numeric_limits<uint8_t>::max() + 1;
  const int64_t bytes = count * (narrow ? 1 : 2);
  if (bytes > bytes_left_ || leaves > std::numeric_limits<uint16_t>::max() + 1) {
    bytes_left_ = 0;
    return false;
  }
  bytes_left_ -= bytes;
  const bool by_values = FollowsValues(static_cast<int64_t>(kept_.size()));
  Leaves& of_tree = kept_.emplace_back();
  if (by_values) {
    const std::vector<int32_t> nodes = NodesByValues(tree);
    if (narrow) {
      of_tree.narrow = LeafOfNodes<uint8_t>(tree, nodes);
    } else {
      of_tree.wide = LeafOfNodes<uint16_t>(tree, nodes);
    }
    return true;
  }
  Divide(tree, partition);
  if (narrow) {
    of_tree.narrow = LeafOfRows<uint8_t>(tree, *partition, count);
  } else {
    of_tree.wide = LeafOfRows<uint16_t>(tree, *partition, count);
  }
  return true;
}

void TreeSums::AddKept(const std::vector<int64_t>& without, float* margin) const {
  struct Added {
    const Leaves* leaves;
    std::size_t first_value;
    int64_t first_margin;
  };
  const int64_t count = rows_.targets.rows;
  std::vector<Added> trees;
  std::vector<float> values;
  for (int64_t t = 0; t < static_cast<int64_t>(kept_.size()); ++t) {
    if (std::binary_search(without.begin(), without.end(), t)) continue;
    trees.push_back({&kept_[t], values.size(), model_.class_of(t) * count});
    for (const Tree::Node& node : model_.trees[t].nodes) {
      if (node.feature < 0) values.push_back(WeightOf(t) * node.value);
    }
  }
  pool_->Run(
      static_cast<int>((count + kRowsPerTask - 1) / kRowsPerTask),
      [&](int task, int) {
        const int64_t first = task * kRowsPerTask, rows = std::min(kRowsPerTask, count - first);
        for (const Added& tree : trees) {
          const float* of_leaves = values.data() + tree.first_value;
          float* sum = margin + tree.first_margin + first;
          if (tree.leaves->wide.empty()) {
            AddValues(of_leaves, tree.leaves->narrow.data() + first, rows, sum);
          } else {
            AddValues(of_leaves, tree.leaves->wide.data() + first, rows, sum);
          }
        }
      },
      kLeafTime * static_cast<double>(count * static_cast<int64_t>(trees.size())));
}

std::vector<float> TreeSums::Margins(const std::vector<int64_t>& without) {
  const auto trees = static_cast<int64_t>(model_.trees.size());
  const int64_t count = rows_.targets.rows;
  std::vector<float> margin(model_.parameters.classes() * count, BaseMargin(model_.parameters));
  RowPartition partition(rows_.matrix);
  while (static_cast<int64_t>(kept_.size()) < trees && KeepNext(&partition)) continue;
  AddKept(without, margin.data());
  for (auto t = static_cast<int64_t>(kept_.size()); t < trees; ++t) {
    if (std::binary_search(without.begin(), without.end(), t)) continue;
    const Tree& tree = model_.trees[t];
    float* const sum = margin.data() + model_.class_of(t) * count;
    if (FollowsValues(t)) {
      const std::vector<int32_t> nodes = NodesByValues(tree);
      for (int64_t i = 0; i < count; ++i) sum[i] += WeightOf(t) * tree.nodes[nodes[i]].value;
      continue;
    }
    Divide(tree, &partition);
    AddLeaves(tree, WeightOf(t), partition, pool_, sum);
  }
  return margin;
}

}  // namespace winnow::gbdt
