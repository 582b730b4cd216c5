#include "trainers/gbdt/prediction_timer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include "trainers/gbdt/tree_sums.h"

namespace winnow::gbdt {
namespace {

constexpr int64_t kTimedRows = 512;
constexpr size_t kTimedPasses = 5;

// A value that BinOf puts into the bin.
float ValueIn(const FeatureCuts& cuts, int bin) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  if (bin >= ValueBins(cuts)) return kNaN;
  const auto at = static_cast<size_t>(bin);
  if (cuts.categorical) {
    if (at < cuts.categories.size()) return static_cast<float>(cuts.categories[at]);
    return cuts.categories.empty() ? 0.0f : static_cast<float>(cuts.categories.back()) + 1;
  }
  if (cuts.thresholds.empty()) return 0;
  if (bin > 0) return cuts.thresholds[at - 1];
  return std::nextafter(cuts.thresholds[0], -std::numeric_limits<float>::infinity());
}

}  // namespace

PredictionTimer::PredictionTimer(const TrainingData& data) {
  const bool validates = data.validation && data.validation->matrix.rows() > 0;
  const BinMatrix& matrix = validates ? data.validation->matrix : data.train.matrix;
  rows_.rows = std::min(matrix.rows(), kTimedRows);
  for (size_t feature = 0; feature < data.cuts.size(); ++feature) {
    std::vector<float>& column = rows_.columns.emplace_back();
    column.reserve(static_cast<size_t>(rows_.rows));
    for (int64_t i = 0; i < rows_.rows; ++i) {
      const int64_t row = i * matrix.rows() / rows_.rows;
      column.push_back(ValueIn(data.cuts[feature], matrix.BinOf(row, static_cast<int>(feature))));
    }
  }
}

double PredictionTimer::MicrosecondsPerRow(const Model& model) const {
  if (rows_.rows == 0) return std::numeric_limits<double>::quiet_NaN();
  std::array<double, kTimedPasses> passes;
  for (double& pass : passes) {
    const auto begin = std::chrono::steady_clock::now();
    (void)PredictMargins(model, rows_, model.rounds());
    pass = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }
  std::nth_element(passes.begin(), passes.begin() + kTimedPasses / 2, passes.end());
  return passes[kTimedPasses / 2] / static_cast<double>(rows_.rows);
}

int64_t LeafCounter::Of(const Model& model) {
  for (; trees_ < model.trees.size(); ++trees_) leaves_ += LeavesOf(model.trees[trees_]);
  return leaves_;
}

}  // namespace winnow::gbdt
