#include "worker/gbdt/model.h"

#include "worker/gbdt/objective.h"

namespace winnow {

std::vector<float> PredictMargins(const GbdtModel& model, const DataSet& data, int64_t rounds) {
  const int classes = model.parameters.classes();
  std::vector<float> margins(static_cast<std::size_t>(data.rows) * classes, BaseMargin(model.parameters));
  // Tree after tree for each row: the order in which training adds them, so the sums have the same bits.
  for (int64_t t = 0; t < rounds * model.trees_per_round(); ++t) {
    const float weight = model.tree_weights.empty() ? 1 : model.tree_weights[t];
    float* margin = margins.data() + model.class_of(t) * data.rows;
    for (int64_t i = 0; i < data.rows; ++i) margin[i] += weight * model.trees[t].Predict(data.columns, i);
  }
  return margins;
}

}  // namespace winnow
