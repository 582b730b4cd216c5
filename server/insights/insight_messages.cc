#include "server/insights/insight_messages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace winnow {
namespace {

constexpr size_t kMostPairs = 10;
constexpr size_t kMarginalPoints = 48;

}  // namespace

double Rounded(double position) {
  constexpr double kSteps = 1e6;
  return std::round(position * kSteps) / kSteps;
}

void Fill(const AxisScale& axis, v1::Axis& message) {
  message.set_name(axis.name());
  message.set_kind(axis.kind());
  message.set_scaling(axis.scaling());
  message.set_min(axis.min());
  message.set_max(axis.max());
  for (const std::string& value : axis.values()) message.add_values(value);
  for (const auto& [position, text] : axis.Ticks()) {
    message.add_tick_position(position);
    message.add_tick_text(text);
  }
}

v1::Importance ToProto(const SolvedForest& forest) {
  v1::Importance importance;
  importance.set_note(forest.answer.note);
  importance.set_trials(static_cast<int64_t>(forest.task->data.y.size()));
  importance.set_resource(forest.task->level);
  importance.mutable_levels()->Assign(forest.task->levels.begin(), forest.task->levels.end());
  importance.mutable_level_trials()->Assign(forest.task->level_trials.begin(),
                                            forest.task->level_trials.end());
  const Fanova& fanova = forest.answer.fanova;
  if (fanova.varied == 0) return importance;
  const auto name = [&](size_t dimension) { return forest.task->axes[dimension].name(); };
  std::vector<size_t> order(fanova.singles.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return fanova.singles[a].mean > fanova.singles[b].mean; });
  for (const size_t dimension : order) {
    v1::ParameterImportance& message = *importance.add_parameters();
    message.set_parameter(name(dimension));
    message.set_importance(fanova.singles[dimension].mean);
    message.set_deviation(fanova.singles[dimension].deviation);
  }
  std::vector<Fanova::Pair> pairs = fanova.pairs;
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Fanova::Pair& a, const Fanova::Pair& b) { return a.share.mean > b.share.mean; });
  pairs.resize(std::min(pairs.size(), kMostPairs));
  for (const Fanova::Pair& pair : pairs) {
    v1::PairImportance& message = *importance.add_pairs();
    message.set_first(name(pair.first));
    message.set_second(name(pair.second));
    message.set_importance(pair.share.mean);
    message.set_deviation(pair.share.deviation);
  }
  return importance;
}

void FillMarginal(const SolvedForest& forest, size_t dimension, v1::Slice& slice) {
  const MarginalCurve curve = MarginalAlong(*forest.task, forest.answer.forest, dimension, kMarginalPoints);
  for (size_t i = 0; i < curve.position.size(); ++i) {
    slice.add_marginal_x(curve.position[i]);
    slice.add_marginal_mean(curve.objective[i].mean);
    slice.add_marginal_deviation(curve.objective[i].deviation);
  }
}

void FillSurface(const SolvedForest& forest, size_t x, size_t y, size_t cells, v1::Contour& contour) {
  contour.set_note(forest.answer.note);
  const MarginalSurface surface = MarginalOver(*forest.task, forest.answer.forest, x, y, cells);
  contour.mutable_x_place()->Assign(surface.x.begin(), surface.x.end());
  contour.mutable_y_place()->Assign(surface.y.begin(), surface.y.end());
  for (const Share& share : surface.objective) {
    contour.add_mean(share.mean);
    contour.add_deviation(share.deviation);
  }
}

}  // namespace winnow
