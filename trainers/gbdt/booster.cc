#include "trainers/gbdt/booster.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/hash.h"
#include "trainers/gbdt/dart.h"
#include "trainers/gbdt/objective/leaf_renewal.h"
#include "trainers/gbdt/objective/metric.h"
#include "trainers/gbdt/objective/objective.h"
#include "trainers/gbdt/tree/kernels.h"
#include "trainers/gbdt/tree/sampling.h"
#include "trainers/gbdt/tree/tree_builder.h"

namespace winnow::gbdt {
namespace {

constexpr double kGradientTime = 0.7;              // minimum ns per row
constexpr int64_t kRowsPerGradientTask = 1 << 13;  // rows per task
constexpr uint64_t kRoundingDraw = 5;              // key of random rounding, beside seed and tree
// What DART keeps at most of the leaves of the rows of train or validation, in bytes.
constexpr int64_t kMostLeafBytes = int64_t{1} << 29;

// Makes renewed leaves keep to monotone constraints, which the tree was grown within: where the values on the
// side of a split that should be lower exceed those on the other, both are cut off in the middle.
void KeepDirections(const std::vector<int>& directions, Tree* tree) {
  struct Range {
    float least = std::numeric_limits<float>::infinity(), most = -std::numeric_limits<float>::infinity();
  };
  const Range unbounded{-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
  std::vector<Range> values(tree->nodes.size()), bounds(tree->nodes.size(), unbounded);
  for (std::size_t n = tree->nodes.size(); n-- > 0;) {
    const Tree::Node& node = tree->nodes[n];
    if (node.feature < 0) {
      values[n] = {node.value, node.value};
    } else {
      const Range &left = values[node.left], &right = values[node.left + 1];
      values[n] = {std::min(left.least, right.least), std::max(left.most, right.most)};
    }
  }
  for (std::size_t n = 0; n < tree->nodes.size(); ++n) {
    Tree::Node& node = tree->nodes[n];
    const auto bounded = [&](float value) { return std::clamp(value, bounds[n].least, bounds[n].most); };
    if (node.feature < 0) {
      node.value = bounded(node.value);
      continue;
    }
    bounds[node.left] = bounds[node.left + 1] = bounds[n];
    if (directions[node.feature] == 0) continue;
    const int lower = directions[node.feature] > 0 ? node.left : node.left + 1;
    const int higher = 2 * node.left + 1 - lower;
    const float most = bounded(values[lower].most), least = bounded(values[higher].least);
    if (most > least) bounds[lower].most = bounds[higher].least = most / 2 + least / 2;
  }
}

}  // namespace

Booster::Booster(const TrainingData& data, FeatureLimits limits, Model* model, Communicator* ranks,
                 ThreadPool* pool)
    : data_(data),
      limits_(std::move(limits)),
      model_(model),
      ranks_(*ranks),
      pool_(pool),
      builder_(model->parameters, data.cuts, data.train.matrix, limits_, ranks, pool),
      drawn_(data.train.matrix),
      others_(data.train.matrix),
      train_sums_(*model, data.cuts, data.train, pool, is_dart() ? kMostLeafBytes : 0) {
  if (!data.validation) return;
  validation_rows_.emplace(data.validation->matrix);
  validation_sums_.emplace(*model, data.cuts, *data.validation, pool, is_dart() ? kMostLeafBytes : 0);
}

void Booster::Start(const RawTables* tables) {
  if (tables != nullptr) {
    margin_ = tables->TrainMargins(*model_, pool_);
    validation_margin_ = tables->ValidationMargins(*model_, pool_);
    train_sums_.FollowValues(tables->train);
    if (data_.validation) validation_sums_->FollowValues(*tables->validation);
  } else {
    margin_ = train_sums_.Margins();
    if (data_.validation) validation_margin_ = validation_sums_->Margins();
  }
  gradient_blocks_ = GradientBlocks(data_.train.targets, kRowsPerGradientTask);
  gradient_.resize(margin_.size());
  hessian_.resize(margin_.size());
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
  AddLeaves(*tree, 1, drawn_, pool_, margin);
  if (model_->parameters.subsample < 1) AddLeaves(*tree, 1, others_, pool_, margin);
  if (validation_rows_)
    AddLeaves(*tree, 1, *validation_rows_, pool_,
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
  if (!limits_.directions.empty()) KeepDirections(limits_.directions, tree);
  return status;
}

void Booster::ComputeAllGradients(const std::vector<float>& margin) {
  pool_->Run(
      static_cast<int>(gradient_blocks_.size()) - 1,
      [&](int block, int) {
        ComputeGradients(model_->parameters, data_.train.targets, margin, gradient_blocks_[block],
                         gradient_blocks_[block + 1], gradient_.data(), hessian_.data(),
                         mean_weight_.value_or(1));
      },
      kGradientTime * static_cast<double>(gradient_.size()));
}

absl::Status Booster::TrainRound() {
  const GbdtParameters& parameters = model_->parameters;
  const int64_t rows = data_.train.targets.rows;
  if (parameters.ranking() && !mean_weight_) {
    const absl::StatusOr<double> mean = MeanGroupWeight(data_.train.targets, &ranks_);
    if (!mean.ok()) return mean.status();
    mean_weight_ = *mean;
  }
  std::vector<int64_t> dropped;
  if (is_dart()) dropped = DroppedTrees(parameters, model_->rounds(), model_->tree_weights);
  std::vector<float> apart;  // from margin_, to which each tree of the round is added
  if (!dropped.empty())
    apart = train_sums_.Margins(dropped);
  else if (RenewsLeaves(parameters.objective) && parameters.num_parallel_tree > 1)
    apart = margin_;
  const std::vector<float>& margin = apart.empty() ? margin_ : apart;
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
  margin_ = train_sums_.Margins();
  if (data_.validation) validation_margin_ = validation_sums_->Margins();
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
