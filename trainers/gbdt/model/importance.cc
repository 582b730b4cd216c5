#include "trainers/gbdt/model/importance.h"

#include <algorithm>
#include <map>

namespace winnow::gbdt {

absl::StatusOr<ImportanceKind> ImportanceKindOf(const std::string& name) {
  if (name == "weight") return ImportanceKind::kWeight;
  if (name == "gain") return ImportanceKind::kGain;
  if (name == "cover") return ImportanceKind::kCover;
  if (name == "total_gain") return ImportanceKind::kTotalGain;
  if (name == "total_cover") return ImportanceKind::kTotalCover;
  return absl::InvalidArgumentError("importance " + name +
                                    ": expected weight, gain, cover, total_gain or total_cover");
}

std::vector<Importance> FeatureImportance(const Model& model, ImportanceKind kind) {
  struct Totals {
    double splits = 0, gain = 0, cover = 0;
  };
  std::map<int32_t, Totals> totals;
  for (const Tree& tree : model.trees) {
    for (const Tree::Node& node : tree.nodes) {
      if (node.feature < 0) continue;
      Totals& of_feature = totals[node.feature];
      of_feature.splits += 1;
      of_feature.gain += node.gain;
      of_feature.cover += node.cover;
    }
  }
  std::vector<Importance> importance;
  for (const auto& [feature, sums] : totals) {
    const bool of_gain = kind == ImportanceKind::kGain || kind == ImportanceKind::kTotalGain;
    const bool average = kind == ImportanceKind::kGain || kind == ImportanceKind::kCover;
    const double total = of_gain ? sums.gain : sums.cover;
    const double score = average ? total / sums.splits : total;
    importance.push_back({feature, kind == ImportanceKind::kWeight ? sums.splits : score});
  }
  std::stable_sort(importance.begin(), importance.end(),
                   [](const Importance& a, const Importance& b) { return a.score > b.score; });
  return importance;
}

}  // namespace winnow::gbdt
