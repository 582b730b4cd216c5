#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow::gbdt {

// 2^label - 1, or the label itself unless exp_gain. REQUIRES: label <= 31.
double DcgGain(float label, bool exp_gain);
double DcgDiscount(std::size_t position);  // 1 / log2(position + 2)

// Gradients of rank:ndcg and rank:pairwise: LambdaMART (Burges, "From RankNet to LambdaRank to LambdaMART",
// MSR-TR-2010-82) as in XGBoost since 2.0 with lambdarank_pair_method=topk. The rows of a group are sorted by
// margin; each of the first lambdarank_num_pair_per_sample is paired with every row below it. A pair's weight
// is the change of NDCG by its swap over the distance of the margins (rank:pairwise: 1 over that distance).
// The sum L of a group's lambdas is scaled to log2(1 + L).
class LambdaGradients {
 public:
  explicit LambdaGradients(const GbdtParameters& parameters);

  // For the rows of one group, of size margin.size().
  void Compute(std::span<const float> margin, std::span<const float> label, double weight, float* gradient,
               float* hessian);

 private:
  void Order(std::span<const float> margin, std::span<const float> label);

  const std::size_t first_;  // rows that are paired
  const bool ndcg_, exp_gain_;
  // For the current group by position, that is by descending margin.
  std::vector<uint32_t> row_;
  std::vector<float> margin_, label_, gradient_, hessian_;
  std::vector<float> pull_, curvature_;  // of one row and each below it
  std::vector<double> gain_, discount_;
};

}  // namespace winnow::gbdt
