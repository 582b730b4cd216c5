#include "trainers/gbdt/objective/lambda_gradients.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "trainers/common/instruction_sets.h"
#include "trainers/common/portable_math.h"

namespace winnow::gbdt {
namespace {

constexpr double kLeastHessian = 1e-16;
constexpr double kLeastDistance = 0.01;  // XGBoost's, between two margins
constexpr std::size_t kStride = 16;      // pairs that the widest instructions process at once

// Pairs are computed in whole strides; results beyond the last row are ignored.
std::size_t WholeStrides(std::size_t count) { return (count + kStride - 1) / kStride * kStride; }

// For the label order, of as many positions as are paired. 0 if nothing is relevant.
double InverseIdealDcg(std::span<const float> label, std::size_t first, bool exp_gain) {
  std::vector<float> ideal(label.begin(), label.end());
  const std::size_t count = std::min(first, ideal.size());
  std::partial_sort(ideal.begin(), ideal.begin() + static_cast<std::ptrdiff_t>(count), ideal.end(),
                    std::greater<>());
  double dcg = 0;
  for (std::size_t i = 0; i < count; ++i) dcg += DcgGain(ideal[i], exp_gain) * DcgDiscount(i);
  return dcg == 0 ? 0 : 1 / dcg;
}

// A row at one position, and those below it, by position.
struct Pairs {
  float margin, label;
  double gain, discount;
  const float* margins;
  const float* labels;
  const double* gains;
  const double* discounts;
  std::size_t count;
};

// The weight of a swap of two rows: `ndcg` times the change of DCG plus `alike`, divided by `over_distance`
// times the distance of their margins plus `least_distance`.
struct PairRule {
  double ndcg, alike, over_distance, least_distance;
};

// pull[j] becomes the part of the pair (row, j) that is added to the row's gradient and subtracted from j's,
// and curvature[j] the part added to both hessians.
WINNOW_EACH_INSTRUCTION_SET
void PullOfPairs(const Pairs& pairs, const PairRule& rule, float* __restrict__ pull,
                 float* __restrict__ curvature) {
  const auto [margin, label, gain, discount, margins, labels, gains, discounts, count] = pairs;
  const auto [ndcg, alike, over_distance, least_distance] = rule;
  for (std::size_t j = 0; j < count; ++j) {
    const float higher = label > labels[j] ? 1.0f : 0.0f, lower = label < labels[j] ? 1.0f : 0.0f;
    const float sign = higher - lower;
    const float difference = sign * (margin - margins[j]);
    const double sigmoid = Sigmoid(difference);
    const double swapped = std::fabs((gain - gains[j]) * (discount - discounts[j]));
    const double distance = std::fabs(static_cast<double>(difference)) * over_distance + least_distance;
    const double delta = (swapped * ndcg + alike) / distance;
    const double slope = std::max(sigmoid * (1 - sigmoid), kLeastHessian);
    pull[j] = sign * static_cast<float>((sigmoid - 1) * delta);
    curvature[j] = (higher + lower) * static_cast<float>(slope * delta * 2);
  }
}

}  // namespace

double DcgGain(float label, bool exp_gain) {
  return exp_gain ? static_cast<double>((uint32_t{1} << std::min(static_cast<uint32_t>(label), 31u)) - 1)
                  : static_cast<double>(label);
}

double DcgDiscount(std::size_t position) {
  constexpr std::size_t kKept = 1024;  // more than the rows of most groups
  static const std::vector<double> kept = [] {
    std::vector<double> discounts(kKept);
    for (std::size_t i = 0; i < kKept; ++i) discounts[i] = kLn2 / PortableLog(static_cast<double>(i) + 2);
    return discounts;
  }();
  return position < kKept ? kept[position] : kLn2 / PortableLog(static_cast<double>(position) + 2);
}

LambdaGradients::LambdaGradients(const GbdtParameters& parameters)
    : first_(static_cast<std::size_t>(parameters.lambdarank_num_pair_per_sample)),
      ndcg_(parameters.objective == ObjectiveKind::kRankNdcg),
      exp_gain_(parameters.ndcg_exp_gain) {}

void LambdaGradients::Order(std::span<const float> margin, std::span<const float> label) {
  const std::size_t size = margin.size();
  row_.resize(size);
  std::iota(row_.begin(), row_.end(), 0u);
  std::stable_sort(row_.begin(), row_.end(),
                   [margin](uint32_t a, uint32_t b) { return margin[a] > margin[b]; });
  for (std::vector<float>* padded : {&margin_, &label_, &pull_, &curvature_}) padded->resize(size + kStride);
  for (std::vector<double>* padded : {&gain_, &discount_}) padded->resize(size + kStride);
  for (std::size_t i = 0; i < size; ++i) {
    margin_[i] = margin[row_[i]];
    label_[i] = label[row_[i]];
    gain_[i] = ndcg_ ? DcgGain(label_[i], exp_gain_) : 0;
    discount_[i] = ndcg_ ? DcgDiscount(i) : 0;
  }
}

void LambdaGradients::Compute(std::span<const float> margin, std::span<const float> label, double weight,
                              float* gradient, float* hessian) {
  const std::size_t size = margin.size();
  Order(margin, label);
  gradient_.assign(size, 0);
  hessian_.assign(size, 0);
  const double ideal = ndcg_ ? InverseIdealDcg(label, first_, exp_gain_) : 0;
  const bool distinct = size > 0 && margin_[0] != margin_[size - 1];
  const PairRule rule{ideal, ndcg_ ? 0.0 : 1.0, distinct ? 1.0 : 0.0, distinct ? kLeastDistance : 1.0};
  double sum = 0;
  for (std::size_t i = 0; i + 1 < size && i < first_; ++i) {
    const std::size_t below = i + 1;
    PullOfPairs({margin_[i], label_[i], gain_[i], discount_[i], &margin_[below], &label_[below],
                 &gain_[below], &discount_[below], WholeStrides(size - below)},
                rule, &pull_[below], &curvature_[below]);
    for (std::size_t j = below; j < size; ++j) {
      gradient_[i] += pull_[j];
      gradient_[j] -= pull_[j];
      hessian_[i] += curvature_[j];
      hessian_[j] += curvature_[j];
      sum += 2.0 * std::fabs(static_cast<double>(pull_[j]));
    }
  }
  const double norm = sum > 0 ? PortableLog(1 + sum) / (kLn2 * sum) : 1.0;
  const float scale = static_cast<float>(norm * weight);
  for (std::size_t i = 0; i < size; ++i) {
    gradient[row_[i]] = gradient_[i] * scale;
    hessian[row_[i]] = hessian_[i] * scale;
  }
}

}  // namespace winnow::gbdt
