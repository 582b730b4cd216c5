#include "worker/gbdt/tree_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "worker/gbdt/sampling.h"

namespace winnow {
namespace {

constexpr float kMinGain = 1e-6f;          // XGBoost's kRtEps: less is no gain
constexpr int64_t kRowsPerTask = 1 << 13;  // of one thread's part of a histogram
constexpr std::size_t kHistogramBudget = std::size_t{1}
                                         << 29;  // bytes that a level's kept histograms may take

}  // namespace

TreeBuilder::TreeBuilder(const GbdtParameters& parameters, const std::vector<FeatureCuts>& cuts,
                         const BinMatrix& matrix, ThreadPool* pool)
    : parameters_(parameters), cuts_(cuts), matrix_(matrix), pool_(pool), rule_(parameters) {}

std::vector<GradientSum> TreeBuilder::TakeBuffer(std::size_t size) {
  if (spare_buffers_.empty()) return std::vector<GradientSum>(size);
  std::vector<GradientSum> buffer = std::move(spare_buffers_.back());
  spare_buffers_.pop_back();
  buffer.assign(size, {});
  return buffer;
}

bool TreeBuilder::MaySplit(const GradientSum& total, int64_t rows, int64_t depth) const {
  if (parameters_.max_depth > 0 && depth >= parameters_.max_depth) return false;
  return rows > 1 && static_cast<double>(total.hessian) * scale_.hessian >= 2 * parameters_.min_child_weight;
}

std::vector<int> TreeBuilder::FeaturesOf(uint64_t tree_index, int64_t depth) {
  return SampleColumns(tree_features_, parameters_.colsample_bylevel, static_cast<uint64_t>(parameters_.seed),
                       ColumnDraw::kLevel, tree_index, static_cast<uint64_t>(depth));
}

void TreeBuilder::CountHistograms(const FixedGradients& gradients, const RowPartition& rows,
                                  const HistogramLayout& layout, const std::vector<OpenNode*>& nodes) {
  struct Task {
    OpenNode* node;
    int64_t begin, end;
    std::vector<GradientSum> part;  // of all but the node's first task
  };
  std::vector<Task> tasks;
  for (OpenNode* node : nodes) {
    node->histogram = TakeBuffer(layout.size());
    const int64_t count = rows.count(node->id);
    const int64_t parts = std::clamp<int64_t>(count / kRowsPerTask, 1, pool_->threads());
    for (int64_t part = 0; part < parts; ++part) {
      tasks.push_back({node, count * part / parts, count * (part + 1) / parts, {}});
      if (part > 0) tasks.back().part = TakeBuffer(layout.size());
    }
  }
  pool_->Run(static_cast<int>(tasks.size()), [&](int t, int) {
    Task& task = tasks[t];
    AddToHistogram(matrix_, layout, gradients, rows.rows(task.node->id) + task.begin, task.end - task.begin,
                   task.part.empty() ? task.node->histogram.data() : task.part.data());
  });
  for (Task& task : tasks) {
    if (task.part.empty()) continue;
    AddHistogram(task.part.data(), layout.size(), task.node->histogram.data());
    spare_buffers_.push_back(std::move(task.part));
  }
}

void TreeBuilder::FindSplits(const FixedGradients& gradients, const RowPartition& rows,
                             const HistogramLayout& layout, uint64_t tree_index, int64_t depth,
                             std::vector<OpenNode>* level) {
  const std::vector<int> features = FeaturesOf(tree_index, depth);
  pool_->Run(static_cast<int>(level->size()), [&](int n, int) {
    OpenNode& node = (*level)[n];
    if (!MaySplit(node.total, rows.count(node.id), depth)) return;
    std::vector<GradientSum> scratch, counted;
    const GradientSum* histogram = node.histogram.data();
    if (node.histogram.empty()) {
      counted.resize(layout.size());
      AddToHistogram(matrix_, layout, gradients, rows.rows(node.id), rows.count(node.id), counted.data());
      histogram = counted.data();
    }
    const double node_gain = rule_.Gain(static_cast<double>(node.total.gradient) * scale_.gradient,
                                        static_cast<double>(node.total.hessian) * scale_.hessian);
    node.split.gain = kMinGain;
    for (int f :
         SampleColumns(features, parameters_.colsample_bynode, static_cast<uint64_t>(parameters_.seed),
                       ColumnDraw::kNode, tree_index, static_cast<uint64_t>(node.id))) {
      const FeatureSlot& feature = matrix_.features()[f];
      if (feature.bins() < 2) continue;
      const GradientSum* bins = FeatureHistogram(feature, layout, histogram, node.total, &scratch);
      ConsiderFeature(rule_, scale_, f, feature, bins, node.total, node_gain, &node.split);
    }
    if (node.split.feature < 0) return;
    const bool empty_child = node.split.left.hessian == 0 || node.split.right.hessian == 0;
    if (empty_child || node.split.gain < static_cast<float>(parameters_.gamma)) node.split.feature = -1;
  });
}

// The children of the level's split nodes, with histograms where they may be split and memory allows.
std::vector<TreeBuilder::OpenNode> TreeBuilder::NextLevel(const FixedGradients& gradients,
                                                          const RowPartition& rows,
                                                          const HistogramLayout& layout, const Tree& tree,
                                                          int64_t depth, std::vector<OpenNode>* level) {
  std::vector<OpenNode> next;
  std::vector<OpenNode*> parents;
  for (OpenNode& node : *level) {
    if (node.split.feature < 0) continue;
    const int left = tree.nodes[node.id].left;
    next.push_back({left, node.split.left, {}, {}});
    next.push_back({left + 1, node.split.right, {}, {}});
    parents.push_back(&node);
  }
  const bool keep = next.size() * layout.size() * sizeof(GradientSum) <= kHistogramBudget;
  struct Family {
    OpenNode *parent, *counted, *other;
  };
  std::vector<Family> families;
  std::vector<OpenNode*> to_count;
  for (std::size_t i = 0; i < next.size() && keep; i += 2) {
    OpenNode* small = &next[i];
    OpenNode* large = &next[i + 1];
    if (rows.count(small->id) > rows.count(large->id)) std::swap(small, large);
    const bool small_needed = MaySplit(small->total, rows.count(small->id), depth);
    const bool large_needed = MaySplit(large->total, rows.count(large->id), depth);
    if (!small_needed && !large_needed) continue;
    to_count.push_back(small);
    if (!large_needed) continue;
    if (parents[i / 2]->histogram.empty())
      to_count.push_back(large);
    else
      families.push_back({parents[i / 2], small, large});
  }
  CountHistograms(gradients, rows, layout, to_count);
  pool_->Run(static_cast<int>(families.size()), [&](int f, int) {
    const Family& family = families[f];
    family.other->histogram = std::move(family.parent->histogram);
    SubtractHistogram(family.counted->histogram.data(), layout.size(), family.other->histogram.data());
  });
  for (OpenNode& node : *level) {
    if (!node.histogram.empty()) spare_buffers_.push_back(std::move(node.histogram));
  }
  return next;
}

void TreeBuilder::MakeLeaf(const OpenNode& node, Tree* tree) const {
  const double weight = rule_.Weight(static_cast<double>(node.total.gradient) * scale_.gradient,
                                     static_cast<double>(node.total.hessian) * scale_.hessian);
  tree->nodes[node.id].value = static_cast<float>(weight) * static_cast<float>(parameters_.eta);
}

Tree TreeBuilder::Build(const FixedGradients& gradients, uint64_t tree_index, RowPartition* rows,
                        const std::vector<RowPartition*>& followers) {
  scale_ = {std::ldexp(1.0, -gradients.gradient_exponent), std::ldexp(1.0, -gradients.hessian_exponent)};
  std::vector<int> all(cuts_.size());
  std::iota(all.begin(), all.end(), 0);
  tree_features_ = SampleColumns(all, parameters_.colsample_bytree, static_cast<uint64_t>(parameters_.seed),
                                 ColumnDraw::kTree, tree_index, 0);
  const HistogramLayout layout(matrix_, tree_features_);

  Tree tree;
  tree.nodes.resize(1);
  std::vector<OpenNode> level(1);
  for (int64_t i = 0; i < rows->count(0); ++i) {
    const FixedGradients::Pair& pair = gradients.rows[rows->rows(0)[i]];
    level[0].total += {pair.gradient, pair.hessian};
  }
  if (MaySplit(level[0].total, rows->count(0), 0)) CountHistograms(gradients, *rows, layout, {&level[0]});
  int64_t leaves = 1;
  for (int64_t depth = 0; !level.empty(); ++depth) {
    FindSplits(gradients, *rows, layout, tree_index, depth, &level);
    std::vector<RowPartition::Cut> cuts;
    for (OpenNode& node : level) {
      tree.nodes[node.id].cover =
          static_cast<float>(static_cast<double>(node.total.hessian) * scale_.hessian);
      if (node.split.feature >= 0 && parameters_.max_leaves > 0 && leaves >= parameters_.max_leaves)
        node.split.feature = -1;
      const Split& split = node.split;
      if (split.feature < 0) {
        MakeLeaf(node, &tree);
        continue;
      }
      ++leaves;
      const int left = static_cast<int>(tree.nodes.size());
      tree.nodes.resize(tree.nodes.size() + 2);
      Tree::Node& made = tree.nodes[node.id];
      made.feature = split.feature;
      made.left = left;
      made.missing_left = split.missing_left;
      made.gain = split.gain;
      made.threshold = split.last_left < 0 ? std::numeric_limits<float>::lowest()
                                           : cuts_[split.feature].thresholds[split.last_left];
      cuts.push_back({node.id, left, split.feature, split.last_left, split.missing_left});
    }
    rows->Apply(cuts, pool_);
    for (RowPartition* follower : followers) follower->Apply(cuts, pool_);
    level = NextLevel(gradients, *rows, layout, tree, depth + 1, &level);
  }
  return tree;
}

}  // namespace winnow
