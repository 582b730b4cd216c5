#include "worker/gbdt/booster.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "worker/gbdt/hash.h"
#include "worker/gbdt/metric.h"
#include "worker/gbdt/objective.h"
#include "worker/gbdt/sampling.h"
#include "worker/gbdt/status_text.h"

namespace winnow {
namespace {

constexpr int64_t kBlock = 1 << 13;  // rows that one task works on

BinMatrix ValidationMatrix(const DataSet* data, const std::vector<FeatureCuts>& cuts, ThreadPool* pool) {
  if (data != nullptr) return BinMatrix(*data, cuts, /*bundle=*/false, pool);
  DataSet none;
  none.columns.resize(cuts.size());
  return BinMatrix(none, cuts, /*bundle=*/false, pool);
}

uint64_t HashFloats(uint64_t hash, const std::vector<float>& values) {
  hash = HashOf(hash, values.size());
  for (float value : values) hash = MixBits(hash ^ std::bit_cast<uint32_t>(value));
  return hash;
}

}  // namespace

absl::Status CheckTrainable(const GbdtParameters& parameters, const DataSet& data, const std::string& what) {
  if (data.rows == 0) return absl::InvalidArgumentError(what + ": there are no rows");
  if (data.rows > int64_t{0xffffffff})
    return absl::InvalidArgumentError(fmt::format("{}: {} rows: expected fewer than 2^32", what, data.rows));
  if (data.columns.empty()) return absl::InvalidArgumentError(what + ": there are no feature columns");
  for (std::size_t f = 0; f < data.columns.size(); ++f) {
    for (int64_t i = 0; i < data.rows; ++i) {
      if (std::isinf(data.columns[f][i]))
        return absl::InvalidArgumentError(
            fmt::format("{}: row {}: feature {} is infinite: expected a finite number or "
                        "a missing value",
                        what, i + 1, data.feature_names[f]));
    }
  }
  if (!data.schema.label_levels.empty() && parameters.objective == ObjectiveKind::kSquaredError) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the label column is text (\"{}\" is one of its values): expected numbers for "
                    "objective=reg:squarederror",
                    what, data.schema.label_levels[0]));
  }
  const absl::Status labels = CheckLabels(parameters, data);
  return labels.ok() ? labels : absl::InvalidArgumentError(fmt::format("{}: {}", what, MessageOf(labels)));
}

Booster::Booster(const DataSet& train, const DataSet* validation, GbdtModel* model, ThreadPool* pool)
    : train_(train),
      validation_(validation),
      model_(model),
      pool_(pool),
      cuts_(MakeCuts(train, static_cast<int>(model->parameters.max_bin), pool)),
      matrix_(train, cuts_, /*bundle=*/true, pool),
      validation_matrix_(ValidationMatrix(validation, cuts_, pool)),
      builder_(model->parameters, cuts_, matrix_, pool),
      drawn_(matrix_),
      others_(matrix_),
      validation_rows_(validation_matrix_) {}

void Booster::Start() {
  margin_ = PredictMargins(*model_, train_, model_->rounds());
  if (validation_ != nullptr) validation_margin_ = PredictMargins(*model_, *validation_, model_->rounds());
  gradient_.resize(margin_.size());
  hessian_.resize(margin_.size());
}

std::vector<uint32_t> Booster::DrawRows(int64_t round, bool drawn) const {
  const double fraction = model_->parameters.subsample;
  std::vector<uint32_t> rows;
  if (fraction >= 1) {
    rows.resize(drawn ? train_.rows : 0);
    std::iota(rows.begin(), rows.end(), 0u);
    return rows;
  }
  for (int64_t i = 0; i < train_.rows; ++i) {
    const bool is_drawn = RowIsDrawn(fraction, static_cast<uint64_t>(model_->parameters.seed),
                                     static_cast<uint64_t>(round), static_cast<uint64_t>(i));
    if (is_drawn == drawn) rows.push_back(static_cast<uint32_t>(i));
  }
  return rows;
}

void Booster::AddLeaves(const Tree& tree, const RowPartition& rows, float* margin) {
  pool_->Run(pool_->threads() == 1 ? 1 : static_cast<int>(tree.nodes.size()), [&](int task, int) {
    const std::size_t first = pool_->threads() == 1 ? 0 : task;
    const std::size_t last = pool_->threads() == 1 ? tree.nodes.size() : first + 1;
    for (std::size_t n = first; n < last; ++n) {
      if (tree.nodes[n].feature >= 0) continue;
      const int node = static_cast<int>(n);
      const uint32_t* row = rows.rows(node);
      for (int64_t i = 0; i < rows.count(node); ++i) margin[row[i]] += tree.nodes[n].value;
    }
  });
}

void Booster::TrainRound() {
  const GbdtParameters& parameters = model_->parameters;
  const int64_t round = model_->rounds();
  pool_->Run(static_cast<int>((train_.rows + kBlock - 1) / kBlock), [&](int block, int) {
    const int64_t begin = block * kBlock;
    ComputeGradients(parameters, train_, margin_, begin, std::min(train_.rows, begin + kBlock), &gradient_,
                     &hessian_);
  });
  for (int k = 0; k < parameters.classes(); ++k) {
    QuantiseGradients(gradient_.data() + k * train_.rows, hessian_.data() + k * train_.rows, train_.rows,
                      &fixed_);
    drawn_.Reset(DrawRows(round, true));
    others_.Reset(DrawRows(round, false));
    std::vector<RowPartition*> followers;
    if (parameters.subsample < 1) followers.push_back(&others_);
    if (validation_ != nullptr) {
      std::vector<uint32_t> rows(validation_->rows);
      std::iota(rows.begin(), rows.end(), 0u);
      validation_rows_.Reset(std::move(rows));
      followers.push_back(&validation_rows_);
    }
    Tree tree = builder_.Build(fixed_, static_cast<uint64_t>(model_->trees.size()), &drawn_, followers);
    AddLeaves(tree, drawn_, margin_.data() + k * train_.rows);
    if (parameters.subsample < 1) AddLeaves(tree, others_, margin_.data() + k * train_.rows);
    if (validation_ != nullptr)
      AddLeaves(tree, validation_rows_, validation_margin_.data() + k * validation_->rows);
    model_->trees.push_back(std::move(tree));
  }
}

std::vector<std::string> Booster::MetricNames() const {
  std::vector<std::string> names;
  for (MetricKind metric : model_->parameters.metrics)
    names.push_back(fmt::format("train-{}", MetricName(metric)));
  if (validation_ == nullptr) return names;
  for (MetricKind metric : model_->parameters.metrics)
    names.push_back(fmt::format("validation-{}", MetricName(metric)));
  return names;
}

std::vector<float> Booster::Evaluate() const {
  const GbdtParameters& parameters = model_->parameters;
  const int metrics = static_cast<int>(parameters.metrics.size());
  std::vector<float> values(validation_ == nullptr ? metrics : 2 * metrics);
  pool_->Run(static_cast<int>(values.size()), [&](int v, int) {
    const bool on_train = v < metrics;
    values[v] = static_cast<float>(EvaluateMetric(parameters.metrics[v % metrics], parameters,
                                                  on_train ? train_ : *validation_,
                                                  on_train ? margin_ : validation_margin_));
  });
  return values;
}

uint64_t Booster::DataFingerprint() const {
  uint64_t hash = matrix_.Fingerprint();
  for (const FeatureCuts& cuts : cuts_) hash = HashFloats(hash, cuts.thresholds);
  return HashFloats(HashFloats(hash, train_.label), train_.weight);
}

}  // namespace winnow
