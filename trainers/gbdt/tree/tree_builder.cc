#include "trainers/gbdt/tree/tree_builder.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "trainers/gbdt/tree/sampling.h"

namespace winnow::gbdt {
namespace {

constexpr int64_t kRowsPerHistogramTask = 1 << 13;  // rows of one histogram task
// Approximate ns per operation: counting a row's slot, subtracting a bin, searching a bin.
constexpr double kCountTime = 0.35, kSubtractTime = 0.3, kSearchTime = 1;
constexpr double kSparseRowTime = 50;  // ns for a row's sparse bins
constexpr int kSlotsToDivide = 32;     // with fewer slots per thread, counting is divided by rows
constexpr int kSlotsPerTask = 8;       // slots of one search task

}  // namespace

std::vector<uint8_t> FeatureLimits::Allowed(const std::vector<int>& path, std::size_t features) const {
  if (interaction.empty() || path.empty()) return std::vector<uint8_t>(features, 1);
  std::vector<uint8_t> allowed(features, 0);
  for (int feature : path) allowed[feature] = 1;
  for (const std::vector<int>& group : interaction) {
    const bool has_path = std::all_of(path.begin(), path.end(), [&](int feature) {
      return std::binary_search(group.begin(), group.end(), feature);
    });
    if (!has_path) continue;
    for (int feature : group) allowed[feature] = 1;
  }
  return allowed;
}

TreeBuilder::TreeBuilder(const GbdtParameters& parameters, const std::vector<FeatureCuts>& cuts,
                         const BinMatrix& matrix, const FeatureLimits& limits, Communicator* ranks,
                         ThreadPool* pool, std::size_t histogram_budget)
    : parameters_(parameters),
      cuts_(cuts),
      matrix_(matrix),
      limits_(limits),
      ranks_(*ranks),
      pool_(*pool),
      histogram_budget_(histogram_budget),
      eta_(static_cast<float>(parameters.eta) / static_cast<float>(parameters.num_parallel_tree)),
      finder_(parameters, matrix.layout(), cuts, limits.directions),
      finder_scratch_(pool->threads()),
      count_scratch_(pool->threads()),
      sparse_scratch_(pool->threads()) {}

bool TreeBuilder::MaySplit(const OpenNode& node) const {
  if (parameters_.max_depth > 0 && node.depth >= parameters_.max_depth) return false;
  return node.rows > 1 &&
         static_cast<double>(node.total.hessian) * scale_.hessian >= 2 * parameters_.min_child_weight;
}

void TreeBuilder::Allocate(const Growth& growth, OpenNode* node) {
  node->histogram.packed = growth.gradients.is_narrow && node->rows <= kPackedRows;
  if (!spare_buffers_.empty()) {
    node->histogram.words = std::move(spare_buffers_.back());
    spare_buffers_.pop_back();
  }
  node->histogram.words.assign(WordsOf(growth.shape, node->histogram.packed), 0);
  if (!growth.shape.sparse_bins().empty()) node->histogram.sparse.emplace();
}

void TreeBuilder::Release(OpenNode* node) {
  if (!node->histogram.words.empty()) spare_buffers_.push_back(std::move(node->histogram.words));
  node->histogram.words.clear();
  node->histogram.sparse.reset();
}

// Counts histograms of this rank's rows, then sums them over all ranks.
absl::Status TreeBuilder::CountHistograms(Growth* growth, const std::vector<OpenNode*>& nodes) {
  struct Task {
    OpenNode* node;
    CountedPart part;
    Histogram aside;      // for all but the first task on the same slots of a node
    bool sparse = false;  // the sparse features instead of slots
  };
  const int threads = pool_.threads(), slots = growth->shape.slots();
  // With enough nodes for all threads, none is divided; otherwise nodes are divided by slots, or by rows if
  // slots are few.
  const bool divide = nodes.size() < 2 * static_cast<std::size_t>(threads);
  const bool by_slots = slots >= kSlotsToDivide * threads;
  const std::span<const uint32_t> sparse_bins = growth->shape.sparse_bins();
  std::vector<Task> tasks;
  int64_t all_rows = 0;
  for (OpenNode* node : nodes) {
    Allocate(*growth, node);
    const uint32_t* const rows = growth->rows.rows(node->id);
    const int64_t count = growth->rows.count(node->id);
    all_rows += count;
    const int64_t parts = divide ? std::clamp<int64_t>(count / kRowsPerHistogramTask, 1, threads) : 1;
    for (int64_t p = 0; p < parts && !sparse_bins.empty(); ++p) {
      const int64_t begin = count * p / parts, end = count * (p + 1) / parts;
      tasks.push_back({node, {rows + begin, end - begin, 0, 0}, {}, true});
      if (p == 0) continue;
      tasks.back().aside.packed = node->histogram.packed;
      tasks.back().aside.sparse.emplace();
    }
    for (int64_t p = 0; p < parts && slots > 0; ++p) {
      if (by_slots) {
        const auto border = [&](int64_t part) { return static_cast<int>(slots * part / parts); };
        tasks.push_back({node, {rows, count, border(p), border(p + 1)}, {}, false});
        continue;
      }
      const int64_t begin = count * p / parts, end = count * (p + 1) / parts;
      tasks.push_back({node, {rows + begin, end - begin, 0, slots}, {}, false});
      if (p == 0) continue;
      tasks.back().aside.packed = node->histogram.packed;
      tasks.back().aside.words.assign(node->histogram.words.size(), 0);
    }
  }
  pool_.Run(
      static_cast<int>(tasks.size()),
      [&](int t, int thread) {
        Task& task = tasks[t];
        if (task.sparse) {
          const bool packed = task.node->histogram.packed;
          (task.aside.empty() ? task.node->histogram : task.aside).sparse =
              CountSparse(matrix_.sparse(), sparse_bins.back(), growth->gradients, task.part.rows,
                          task.part.count, packed, &sparse_scratch_[thread]);
          return;
        }
        CountRows(matrix_, growth->shape, growth->gradients, task.part,
                  task.aside.empty() ? &task.node->histogram : &task.aside, &count_scratch_[thread]);
      },
      kCountTime * static_cast<double>(all_rows * slots) +
          (sparse_bins.empty() ? 0.0 : kSparseRowTime * static_cast<double>(all_rows)));
  for (const Task& task : tasks) {
    if (!task.aside.empty()) AddHistogram(task.aside, &task.node->histogram);
  }
  std::vector<Histogram*> histograms;
  for (OpenNode* node : nodes) histograms.push_back(&node->histogram);
  return growth->exchange.Sum(histograms);
}

// Makes the histograms needed to search the children, two for each parent.
absl::Status TreeBuilder::MakeHistograms(Growth* growth, OpenNode* const* parents, OpenNode* children,
                                         std::size_t pairs, bool subtract) {
  struct Family {
    OpenNode *parent, *counted, *other;
  };
  std::vector<Family> families;
  std::vector<OpenNode*> to_count;
  for (std::size_t i = 0; i < pairs; ++i) {
    OpenNode* small = &children[2 * i];
    OpenNode* large = &children[2 * i + 1];
    if (IsSmaller(*large, *small)) std::swap(small, large);
    const bool large_needed = MaySplit(*large);
    if (!large_needed && !MaySplit(*small)) continue;
    if (subtract && large_needed && !parents[i]->histogram.empty()) {
      families.push_back({parents[i], small, large});
      to_count.push_back(small);
      continue;
    }
    if (MaySplit(*small)) to_count.push_back(small);
    if (large_needed) to_count.push_back(large);
  }
  if (absl::Status status = CountHistograms(growth, to_count); !status.ok()) return status;
  const std::size_t begin = growth->exchange.first_slot() * growth->shape.pad();
  const std::size_t end = growth->exchange.end_slot() * growth->shape.pad();
  for (const Family& family : families) {
    Histogram& parent = family.parent->histogram;
    const bool packed = growth->gradients.is_narrow && family.other->rows <= kPackedRows;
    if (packed == parent.packed)
      std::swap(family.other->histogram, parent);
    else
      Allocate(*growth, family.other);
  }
  pool_.Run(
      static_cast<int>(families.size()),
      [&](int f, int) {
        const Family& family = families[f];
        Histogram& other = family.other->histogram;
        SubtractHistogram(family.parent->histogram.empty() ? other : family.parent->histogram,
                          family.counted->histogram, begin, end, &other);
      },
      kSubtractTime * static_cast<double>(families.size() * (end - begin)) +
          static_cast<double>(SparseBinsOf(to_count)));
  for (std::size_t i = 0; i < pairs; ++i) Release(parents[i]);
  return absl::OkStatus();
}

int64_t TreeBuilder::SparseBinsOf(const std::vector<OpenNode*>& nodes) {
  int64_t bins = 0;
  for (const OpenNode* node : nodes)
    bins += node->histogram.sparse ? static_cast<int64_t>(node->histogram.sparse->bins.size()) : 0;
  return bins;
}

absl::Status TreeBuilder::SearchHistograms(Growth* growth, const std::vector<OpenNode*>& nodes) {
  const int first = growth->exchange.first_slot(), end = growth->exchange.end_slot();
  const int tasks_of_node = pool_.threads() == 1 ? 1
                            : !growth->shape.sparse_bins().empty()
                                ? 2 * pool_.threads()
                                : std::clamp((end - first) / kSlotsPerTask, 1, 2 * pool_.threads());
  std::vector<std::vector<uint8_t>> allowed(nodes.size());
  std::vector<int> level_features;
  int64_t level = -1;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto seed = static_cast<uint64_t>(parameters_.seed);
    if (nodes[n]->depth != level) {
      level = nodes[n]->depth;
      level_features = SampleColumns(tree_features_, parameters_.colsample_bylevel, seed, ColumnDraw::kLevel,
                                     growth->tree_index, static_cast<uint64_t>(level));
    }
    const std::vector<int> drawn =
        SampleColumns(level_features, parameters_.colsample_bynode, seed, ColumnDraw::kNode,
                      growth->tree_index, static_cast<uint64_t>(nodes[n]->id));
    const std::vector<uint8_t> limited = limits_.Allowed(nodes[n]->path, cuts_.size());
    allowed[n].resize(cuts_.size());
    for (int feature : drawn) allowed[n][feature] = limited[feature];
  }
  std::vector<Split> found(nodes.size() * tasks_of_node);
  pool_.Run(
      static_cast<int>(found.size()),
      [&](int t, int thread) {
        const std::size_t n = t / tasks_of_node;
        const int part = t % tasks_of_node;
        const OpenNode& node = *nodes[n];
        const SplitQuery query{&node.histogram,
                               node.total,
                               node.bounds,
                               &allowed[n],
                               first + (end - first) * part / tasks_of_node,
                               first + (end - first) * (part + 1) / tasks_of_node,
                               part,
                               tasks_of_node};
        found[t] = finder_.Best(growth->shape, scale_, query, &finder_scratch_[thread]);
      },
      kSearchTime *
          static_cast<double>(static_cast<int64_t>(nodes.size()) * (end - first) * growth->shape.pad() +
                              SparseBinsOf(nodes)));
  for (std::size_t t = 0; t < found.size(); ++t) {
    OpenNode& node = *nodes[t / tasks_of_node];
    if (found[t].Beats(node.split)) node.split = std::move(found[t]);
  }
  std::vector<HistogramExchange::Finding> findings;
  for (OpenNode* node : nodes) findings.push_back({&node->split, growth->rows.count(node->id)});
  if (absl::Status status = growth->exchange.Agree(&findings); !status.ok()) return status;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    nodes[n]->rows = findings[n].rows;
    if (nodes[n]->split.gain < static_cast<float>(parameters_.gamma)) nodes[n]->split.feature = -1;
  }
  return absl::OkStatus();
}

// Works in portions whose histograms fit the budget; keeps them, for the next subtraction, if all fit.
absl::Status TreeBuilder::FindSplits(Growth* growth, const std::vector<OpenNode*>& parents,
                                     std::vector<OpenNode>* children) {
  const std::size_t pair_words = 2 * WordsOf(growth->shape, false);
  for (OpenNode* parent : parents) growth->kept_words -= parent->histogram.words.size();
  const bool keep = growth->kept_words + parents.size() * pair_words <= histogram_budget_;
  if (!keep) {
    for (OpenNode* parent : parents) Release(parent);
  }
  const std::size_t portion =
      keep ? parents.size() : std::max<std::size_t>(1, histogram_budget_ / 4 / pair_words);
  for (std::size_t begin = 0; begin < parents.size(); begin += portion) {
    const std::size_t pairs = std::min(portion, parents.size() - begin);
    OpenNode* const first = children->data() + 2 * begin;
    if (absl::Status status = MakeHistograms(growth, parents.data() + begin, first, pairs, keep);
        !status.ok())
      return status;
    std::vector<OpenNode*> to_search;
    for (OpenNode* child = first; child != first + 2 * pairs; ++child) {
      if (MaySplit(*child)) to_search.push_back(child);
    }
    if (absl::Status status = SearchHistograms(growth, to_search); !status.ok()) return status;
    for (OpenNode* child = first; child != first + 2 * pairs; ++child) {
      if (!keep || child->split.feature < 0) Release(child);
      growth->kept_words += child->histogram.words.size();
    }
  }
  return absl::OkStatus();
}

RowPartition::Cut TreeBuilder::WriteSplit(Growth* growth, const OpenNode& node) const {
  const Split& split = node.split;
  const FeatureCuts& cuts = cuts_[split.feature];
  std::vector<Tree::Node>& nodes = growth->tree.nodes;
  const int left = static_cast<int>(nodes.size());
  nodes.resize(nodes.size() + 2);
  Tree::Node& made = nodes[node.id];
  made.feature = split.feature;
  made.left = left;
  made.missing_left = split.missing_left;
  made.gain = split.gain;
  made.weight = static_cast<float>(finder_.WeightOf(node.total, scale_, node.bounds));
  made.categorical = cuts.categorical;
  if (cuts.categorical) {
    made.categories_begin = static_cast<int32_t>(growth->tree.categories.size());
    made.categories_count = static_cast<int32_t>(split.right_bins.size());
    for (int bin : split.right_bins) growth->tree.categories.push_back(cuts.categories[bin]);
  } else {
    const bool all_left = split.last_left == static_cast<int>(cuts.thresholds.size());
    made.threshold = split.last_left < 0 ? std::numeric_limits<float>::lowest()
                     : all_left          ? std::numeric_limits<float>::max()
                                         : cuts.thresholds[split.last_left];
  }
  return {node.id, left, split.feature, LeftBins(growth->tree, made, cuts)};
}

void TreeBuilder::MakeLeaf(Growth* growth, const OpenNode& node) const {
  const auto weight = static_cast<float>(finder_.WeightOf(node.total, scale_, node.bounds));
  growth->tree.nodes[node.id].weight = weight;
  growth->tree.nodes[node.id].value = weight * eta_;
}

// Needs no communication: each row's hessian is bounded, so a side's sum gives a lower bound on its rows.
void TreeBuilder::BoundRows(const Growth& growth, const OpenNode& parent, OpenNode* left,
                            OpenNode* right) const {
  if (ranks_.size() == 1) {
    left->rows = growth.rows.count(left->id);
    right->rows = growth.rows.count(right->id);
    return;
  }
  const int64_t most = growth.gradients.is_narrow ? kMostNarrow : kMostWide;
  const auto at_least = [&](const OpenNode& node) { return (node.total.hessian + most - 1) / most; };
  left->rows = parent.rows - at_least(*right);
  right->rows = parent.rows - at_least(*left);
}

// Which sibling's rows to count. It affects only the work, but all ranks must choose the same.
bool TreeBuilder::IsSmaller(const OpenNode& a, const OpenNode& b) const {
  return ranks_.size() == 1 ? a.rows < b.rows : a.total.hessian < b.total.hessian;
}

absl::StatusOr<std::vector<TreeBuilder::OpenNode>> TreeBuilder::Divide(Growth* growth,
                                                                       std::vector<OpenNode*> nodes) {
  std::vector<RowPartition::Cut> cuts;
  std::vector<OpenNode> children;
  for (const OpenNode* node : nodes) {
    cuts.push_back(WriteSplit(growth, *node));
    OpenNode left, right;
    left.id = cuts.back().left_node;
    right.id = left.id + 1;
    left.depth = right.depth = node->depth + 1;
    left.total = node->split.left;
    right.total = node->split.right;
    finder_.ChildBounds(node->split, scale_, node->bounds, &left.bounds, &right.bounds);
    if (!limits_.interaction.empty()) {
      left.path = node->path;
      left.path.push_back(node->split.feature);
      right.path = left.path;
    }
    for (OpenNode* child : {&left, &right}) {
      growth->tree.nodes[child->id].cover =
          static_cast<float>(static_cast<double>(child->total.hessian) * scale_.hessian);
      children.push_back(std::move(*child));
    }
    ++growth->leaves;
  }
  growth->rows.Apply(cuts, &pool_);
  for (RowPartition* follower : growth->followers) follower->Apply(cuts, &pool_);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    BoundRows(*growth, *nodes[i], &children[2 * i], &children[2 * i + 1]);
  if (absl::Status status = FindSplits(growth, nodes, &children); !status.ok()) return status;
  return children;
}

absl::Status TreeBuilder::GrowByLevel(Growth* growth, OpenNode root) {
  std::vector<OpenNode> level;
  level.push_back(std::move(root));
  while (!level.empty()) {
    std::vector<OpenNode*> divided;
    for (OpenNode& node : level) {
      const bool full = parameters_.max_leaves > 0 &&
                        growth->leaves + static_cast<int64_t>(divided.size()) >= parameters_.max_leaves;
      if (node.split.feature >= 0 && !full)
        divided.push_back(&node);
      else
        MakeLeaf(growth, node);
    }
    absl::StatusOr<std::vector<OpenNode>> next = Divide(growth, std::move(divided));
    if (!next.ok()) return next.status();
    for (OpenNode& node : level) Release(&node);
    level = *std::move(next);
  }
  return absl::OkStatus();
}

absl::Status TreeBuilder::GrowByGain(Growth* growth, OpenNode root) {
  const auto comes_later = [](const OpenNode& a, const OpenNode& b) {
    return a.split.gain != b.split.gain ? a.split.gain < b.split.gain : a.id > b.id;
  };
  std::vector<OpenNode> open;  // a heap, the best first
  open.push_back(std::move(root));
  while (!open.empty()) {
    std::pop_heap(open.begin(), open.end(), comes_later);
    OpenNode node = std::move(open.back());
    open.pop_back();
    const bool full = parameters_.max_leaves > 0 && growth->leaves >= parameters_.max_leaves;
    if (node.split.feature < 0 || full) {
      growth->kept_words -= node.histogram.words.size();
      MakeLeaf(growth, node);
      Release(&node);
      continue;
    }
    absl::StatusOr<std::vector<OpenNode>> children = Divide(growth, {&node});
    if (!children.ok()) return children.status();
    Release(&node);
    for (OpenNode& child : *children) {
      open.push_back(std::move(child));
      std::push_heap(open.begin(), open.end(), comes_later);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TreeBuilder::OpenNode> TreeBuilder::Root(Growth* growth) {
  OpenNode root;
  const uint32_t* rows = growth->rows.rows(0);
  for (int64_t i = 0; i < growth->rows.count(0); ++i) root.total += growth->gradients.Of(rows[i]);
  uint64_t sums[3] = {static_cast<uint64_t>(root.total.gradient), static_cast<uint64_t>(root.total.hessian),
                      static_cast<uint64_t>(growth->rows.count(0))};
  if (absl::Status status = ranks_.AllReduceSum(sums); !status.ok()) return status;
  root.total = {static_cast<int64_t>(sums[0]), static_cast<int64_t>(sums[1])};
  root.rows = static_cast<int64_t>(sums[2]);
  growth->tree.nodes.resize(1);
  growth->tree.nodes[0].cover = static_cast<float>(static_cast<double>(root.total.hessian) * scale_.hessian);
  if (!MaySplit(root)) return root;
  if (absl::Status status = CountHistograms(growth, {&root}); !status.ok()) return status;
  if (absl::Status status = SearchHistograms(growth, {&root}); !status.ok()) return status;
  growth->kept_words = root.histogram.words.size();
  return root;
}

absl::StatusOr<Tree> TreeBuilder::Build(const FixedGradients& gradients, uint64_t tree_index,
                                        RowPartition* rows, const std::vector<RowPartition*>& followers) {
  scale_ = {std::ldexp(1.0, -gradients.gradient_exponent), std::ldexp(1.0, -gradients.hessian_exponent)};
  std::vector<int> all(cuts_.size());
  std::iota(all.begin(), all.end(), 0);
  tree_features_ = SampleColumns(all, parameters_.colsample_bytree, static_cast<uint64_t>(parameters_.seed),
                                 ColumnDraw::kTree, tree_index, 0);
  const HistogramShape shape(matrix_.layout(), tree_features_);
  Growth growth{gradients, *rows, followers, tree_index, shape, HistogramExchange(shape, &ranks_), {}};
  absl::StatusOr<OpenNode> root = Root(&growth);
  if (!root.ok()) return root.status();
  const absl::Status grown = parameters_.grow_policy == GrowPolicy::kLossGuide
                                 ? GrowByGain(&growth, *std::move(root))
                                 : GrowByLevel(&growth, *std::move(root));
  if (!grown.ok()) return grown;
  return std::move(growth.tree);
}

}  // namespace winnow::gbdt
