#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/gbdt/model/model.h"

namespace winnow::gbdt {

enum class ImportanceKind { kWeight, kGain, kCover, kTotalGain, kTotalCover };

// Accepts XGBoost's names: weight, gain, cover, total_gain, total_cover. InvalidArgument for other names.
absl::StatusOr<ImportanceKind> ImportanceKindOf(const std::string& name);

struct Importance {
  int32_t feature = 0;
  double score = 0;
};

// XGBoost's get_score over all trees: the number of a feature's splits (weight), and the gains or hessian
// sums of these splits, average or total. Leaves out features without splits; the most important come first,
// equal ones in feature order.
std::vector<Importance> FeatureImportance(const Model& model, ImportanceKind kind);

}  // namespace winnow::gbdt
