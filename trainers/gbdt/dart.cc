#include "trainers/gbdt/dart.h"

#include "base/hash.h"

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

}  // namespace winnow::gbdt
