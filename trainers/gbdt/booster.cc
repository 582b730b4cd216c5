#include "trainers/gbdt/booster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "trainers/gbdt/objective/leaf_renewal.h"
#include "trainers/gbdt/objective/metric.h"
#include "trainers/gbdt/objective/objective.h"
#include "trainers/gbdt/tree/kernels.h"
#include "trainers/gbdt/tree/sampling.h"
#include "trainers/gbdt/tree/tree_builder.h"

namespace winnow::gbdt {
namespace {

// The purpose of a draw; sampling.h has 1 to 4.
enum class DartDraw : uint64_t { kSkip = 5, kTree = 6, kOne = 7 };

// Uniform in [0, 1).
double Uniform(const GbdtParameters& parameters, DartDraw draw, int64_t round, int64_t tree) {
  const uint64_t bits = HashOf(static_cast<uint64_t>(parameters.seed), static_cast<uint64_t>(draw),
                               static_cast<uint64_t>(round), static_cast<uint64_t>(tree));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// Returns the tree at which the cumulated shares pass `point` of their sum.
int64_t TreeAt(const std::vector<double>& shares, double point) {
  double sum = 0;
  for (std::size_t t = 0; t < shares.size(); ++t) {
    sum += shares[t];
    if (point < sum) return static_cast<int64_t>(t);
  }
  return static_cast<int64_t>(shares.size()) - 1;
}

constexpr double kGradientTime = 0.7;              // minimum ns per row
constexpr int64_t kRowsPerGradientTask = 1 << 13;  // rows per task
constexpr uint64_t kRoundingDraw = 5;              // key of random rounding, beside seed and tree

}  // namespace

std::vector<int64_t> DroppedTrees(const GbdtParameters& parameters, int64_t round,
                                  const std::vector<float>& tree_weights) {
  std::vector<int64_t> dropped;
  const auto trees = static_cast<int64_t>(tree_weights.size());
  if (trees == 0 || Uniform(parameters, DartDraw::kSkip, round, 0) < parameters.skip_drop) return dropped;
  std::vector<double> shares(tree_weights.size(), 1);
  if (parameters.dart_weighted_sample) shares.assign(tree_weights.begin(), tree_weights.end());
  double sum = 0;
  for (double share : shares) sum += share;
  for (int64_t t = 0; t < trees; ++t) {
    const double rate = parameters.rate_drop * (shares[t] * static_cast<double>(trees) / sum);
    if (Uniform(parameters, DartDraw::kTree, round, t) < rate) dropped.push_back(t);
  }
  if (parameters.one_drop && dropped.empty())
    dropped.push_back(TreeAt(shares, Uniform(parameters, DartDraw::kOne, round, 0) * sum));
  return dropped;
}

void WeighNewTrees(const GbdtParameters& parameters, const std::vector<int64_t>& dropped, int64_t new_trees,
                   std::vector<float>* tree_weights) {
  // In floats, as XGBoost.
  const auto eta = static_cast<float>(parameters.eta / static_cast<double>(new_trees));
  const auto drops = static_cast<float>(dropped.size());
  float kept = 1, added = 1;
  if (!dropped.empty() && parameters.dart_forest) {
    kept = added = static_cast<float>(1.0 / (1.0 + eta));
  } else if (!dropped.empty()) {
    kept = static_cast<float>(static_cast<double>(drops) / (drops + eta));
    added = static_cast<float>(1.0 / (drops + eta));
  }
  for (int64_t t : dropped) (*tree_weights)[t] *= kept;
  tree_weights->insert(tree_weights->end(), new_trees, added);
}

Booster::Booster(const TrainingData& data, FeatureLimits limits, Model* model, Communicator* ranks,
                 ThreadPool* pool)
    : data_(data),
      limits_(std::move(limits)),
      model_(model),
      ranks_(*ranks),
      pool_(pool),
      builder_(model->parameters, data.cuts, data.train.matrix, limits_, ranks, pool),
      drawn_(data.train.matrix),
      others_(data.train.matrix) {
  if (data.validation) validation_rows_.emplace(data.validation->matrix);
}

void Booster::Start(std::optional<StartMargins> margins) {
  if (margins) {
    margin_ = std::move(margins->train);
    validation_margin_ = std::move(margins->validation);
  } else {
    margin_ = MarginsOf(data_.train, {});
    if (data_.validation) validation_margin_ = MarginsOf(*data_.validation, {});
  }
  gradient_blocks_ = GradientBlocks(data_.train.targets, kRowsPerGradientTask);
  gradient_.resize(margin_.size());
  hessian_.resize(margin_.size());
}

std::vector<float> Booster::MarginsOf(const BinnedRows& rows, const std::vector<int64_t>& without) const {
  const int64_t count = rows.targets.rows;
  std::vector<float> margin(model_->parameters.classes() * count, BaseMargin(model_->parameters));
  RowPartition partition(rows.matrix);
  for (int64_t t = 0; t < static_cast<int64_t>(model_->trees.size()); ++t) {
    if (std::binary_search(without.begin(), without.end(), t)) continue;
    const Tree& tree = model_->trees[t];
    partition.ResetToAll(count);
    std::vector<RowPartition::Cut> cuts;
    for (std::vector<int> level = {0}, next; !level.empty(); level = std::exchange(next, {})) {
      cuts.clear();
      for (int id : level) {
        const Tree::Node& node = tree.nodes[id];
        if (node.feature < 0) continue;
        cuts.push_back({id, node.left, node.feature, LeftBins(tree, node, data_.cuts[node.feature])});
        next.push_back(node.left);
        next.push_back(node.left + 1);
      }
      partition.Apply(cuts, pool_);
    }
    const float weight = model_->tree_weights.empty() ? 1.0f : model_->tree_weights[t];
    AddLeaves(tree, weight, partition, margin.data() + model_->class_of(t) * count);
  }
  return margin;
}

// Divides this rank's rows into those that grow tree `draw` and the others.
void Booster::DrawRows(uint64_t draw) {
  const double fraction = model_->parameters.subsample;
  const int64_t rows = data_.train.targets.rows;
  if (fraction >= 1) {
    drawn_.ResetToAll(rows);
    return;
  }
  const RowDraw row_draw(fraction, static_cast<uint64_t>(model_->parameters.seed), draw);
  const int64_t taken = ChosenKernels().draw_rows(row_draw.mixed_key(), row_draw.threshold(),
                                                  static_cast<uint64_t>(data_.train.targets.first_row), rows,
                                                  drawn_.Room(rows), others_.Room(rows));
  drawn_.Start(taken);
  others_.Start(rows - taken);
}

void Booster::AddLeaves(const Tree& tree, float weight, const RowPartition& rows, float* margin) const {
  const bool alone = pool_->threads() == 1;
  pool_->Run(
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
      kGradientTime * static_cast<double>(rows.count(0)));
}

absl::StatusOr<Tree> Booster::TrainTree(uint64_t tree_index, int class_index) {
  DrawRows(tree_index);
  std::vector<RowPartition*> followers;
  if (model_->parameters.subsample < 1) followers.push_back(&others_);
  if (validation_rows_ && !is_dart()) {
    validation_rows_->ResetToAll(data_.validation->targets.rows);
    followers.push_back(&*validation_rows_);
  }
  absl::StatusOr<Tree> tree = builder_.Build(fixed_, tree_index, &drawn_, followers);
  if (!tree.ok()) return tree;
  if (RenewsLeaves(model_->parameters.objective)) {
    if (absl::Status status = RenewLeavesOf(class_index, &*tree); !status.ok()) return status;
  }
  if (is_dart()) return tree;
  float* const margin = margin_.data() + class_index * data_.train.targets.rows;
  AddLeaves(*tree, 1, drawn_, margin);
  if (model_->parameters.subsample < 1) AddLeaves(*tree, 1, others_, margin);
  if (validation_rows_)
    AddLeaves(*tree, 1, *validation_rows_,
              validation_margin_.data() + class_index * data_.validation->targets.rows);
  return tree;
}

// Uses the rows from which the tree was grown.
absl::Status Booster::RenewLeavesOf(int class_index, Tree* tree) const {
  const int64_t rows = data_.train.targets.rows;
  std::vector<int32_t> leaf_of_row(rows, -1);
  std::vector<int> leaves;
  std::vector<float> values;
  for (std::size_t n = 0; n < tree->nodes.size(); ++n) {
    if (tree->nodes[n].feature >= 0) continue;
    const int node = static_cast<int>(n);
    for (int64_t i = 0; i < drawn_.count(node); ++i)
      leaf_of_row[drawn_.rows(node)[i]] = static_cast<int32_t>(leaves.size());
    leaves.push_back(node);
    values.push_back(tree->nodes[n].value);
  }
  const absl::Status status =
      RenewLeaves(model_->parameters, data_.train.targets, gradient_margin_ + class_index * rows, leaf_of_row,
                  static_cast<int>(leaves.size()), &ranks_, &values);
  for (std::size_t l = 0; l < leaves.size(); ++l) tree->nodes[leaves[l]].value = values[l];
  return status;
}

void Booster::ComputeAllGradients(const std::vector<float>& margin) {
  pool_->Run(
      static_cast<int>(gradient_blocks_.size()) - 1,
      [&](int block, int) {
        ComputeGradients(model_->parameters, data_.train.targets, margin, gradient_blocks_[block],
                         gradient_blocks_[block + 1], gradient_.data(), hessian_.data());
      },
      kGradientTime * static_cast<double>(gradient_.size()));
}

absl::Status Booster::TrainRound() {
  const GbdtParameters& parameters = model_->parameters;
  const int64_t rows = data_.train.targets.rows;
  std::vector<int64_t> dropped;
  if (is_dart()) dropped = DroppedTrees(parameters, model_->rounds(), model_->tree_weights);
  std::vector<float> without_dropped;
  if (!dropped.empty()) without_dropped = MarginsOf(data_.train, dropped);
  const std::vector<float>& margin = dropped.empty() ? margin_ : without_dropped;
  gradient_margin_ = margin.data();
  ComputeAllGradients(margin);
  std::vector<Tree> grown;
  for (int k = 0; k < parameters.classes(); ++k) {
    for (int64_t parallel = 0; parallel < parameters.num_parallel_tree; ++parallel) {
      const uint64_t tree_index = model_->trees.size() + grown.size();
      if (parallel == 0) {
        const uint64_t key = HashOf(static_cast<uint64_t>(parameters.seed), kRoundingDraw, tree_index);
        const absl::Status status =
            QuantiseGradients(gradient_.data() + k * rows, hessian_.data() + k * rows, data_.train.share(),
                              key, parameters.wide_gradients, &ranks_, pool_, &fixed_);
        if (!status.ok()) return status;
      }
      absl::StatusOr<Tree> tree = TrainTree(tree_index, k);
      if (!tree.ok()) return tree.status();
      grown.push_back(*std::move(tree));
    }
  }
  if (is_dart())
    WeighNewTrees(parameters, dropped, static_cast<int64_t>(grown.size()), &model_->tree_weights);
  for (Tree& tree : grown) model_->trees.push_back(std::move(tree));
  if (!is_dart()) return absl::OkStatus();
  margin_ = MarginsOf(data_.train, {});
  if (data_.validation) validation_margin_ = MarginsOf(*data_.validation, {});
  return absl::OkStatus();
}

std::vector<std::string> Booster::MetricNames() const {
  std::vector<std::string> names;
  for (const Metric& metric : model_->parameters.metrics)
    names.push_back(fmt::format("train-{}", MetricName(metric)));
  if (!data_.validation) return names;
  for (const Metric& metric : model_->parameters.metrics)
    names.push_back(fmt::format("validation-{}", MetricName(metric)));
  return names;
}

absl::StatusOr<std::vector<float>> Booster::Evaluate() {
  const GbdtParameters& parameters = model_->parameters;
  std::vector<float> values;
  for (const bool on_train : {true, false}) {
    if (!on_train && !data_.validation) break;
    for (const Metric& metric : parameters.metrics) {
      const absl::StatusOr<double> value =
          EvaluateMetric(metric, parameters, on_train ? data_.train.targets : data_.validation->targets,
                         on_train ? margin_ : validation_margin_, &ranks_);
      if (!value.ok()) return value.status();
      values.push_back(static_cast<float>(*value));
    }
  }
  return values;
}

}  // namespace winnow::gbdt
