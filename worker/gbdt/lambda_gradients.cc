#include "worker/gbdt/lambda_gradients.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "worker/gbdt/portable_math.h"

namespace winnow {
namespace {

constexpr double kLeastHessian = 1e-16;
constexpr double kLeastDistance = 0.01;  // XGBoost's, of two margins

// Of the label order, of as many positions as are paired. 0 where nothing is relevant.
double InverseIdealDcg(std::span<const float> label, std::size_t first, bool exp_gain) {
  std::vector<float> ideal(label.begin(), label.end());
  const std::size_t count = std::min(first, ideal.size());
  std::partial_sort(ideal.begin(), ideal.begin() + static_cast<std::ptrdiff_t>(count), ideal.end(),
                    std::greater<>());
  double dcg = 0;
  for (std::size_t i = 0; i < count; ++i) dcg += DcgGain(ideal[i], exp_gain) * DcgDiscount(i);
  return dcg == 0 ? 0 : 1 / dcg;
}

}  // namespace

double DcgGain(float label, bool exp_gain) {
  return exp_gain ? static_cast<double>((uint32_t{1} << std::min(static_cast<uint32_t>(label), 31u)) - 1)
                  : static_cast<double>(label);
}

double DcgDiscount(std::size_t position) {
  constexpr std::size_t kKept = 1024;  // more than most groups have rows
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

void LambdaGradients::Compute(std::span<const float> margin, std::span<const float> label, float weight,
                              float* gradient, float* hessian) const {
  const std::size_t size = margin.size();
  std::fill_n(gradient, size, 0.0f);
  std::fill_n(hessian, size, 0.0f);
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return margin[a] > margin[b]; });
  if (size < 2) return;
  std::vector<double> gain(size), discount(size);  // by position
  const double inverse_ideal = ndcg_ ? InverseIdealDcg(label, first_, exp_gain_) : 0;
  for (std::size_t i = 0; ndcg_ && i < size; ++i) {
    gain[i] = DcgGain(label[order[i]], exp_gain_);
    discount[i] = DcgDiscount(i);
  }
  const bool distinct = margin[order.front()] != margin[order.back()];
  double sum = 0;
  for (std::size_t i = 0; i < std::min(first_, size); ++i) {
    for (std::size_t j = i + 1; j < size; ++j) {
      const std::size_t a = order[i], b = order[j];
      if (label[a] == label[b]) continue;
      const std::size_t high = label[a] > label[b] ? a : b, low = label[a] > label[b] ? b : a;
      const float difference = margin[high] - margin[low];
      const double sigmoid = Sigmoid(difference);
      double delta =
          ndcg_ ? std::fabs((gain[i] - gain[j]) * (discount[i] - discount[j])) * inverse_ideal : 1.0;
      if (distinct) delta /= std::fabs(static_cast<double>(difference)) + kLeastDistance;
      const float lambda = static_cast<float>((sigmoid - 1) * delta);
      const float curvature =
          static_cast<float>(std::max(sigmoid * (1 - sigmoid), kLeastHessian) * delta * 2);
      gradient[high] += lambda;
      gradient[low] -= lambda;
      hessian[high] += curvature;
      hessian[low] += curvature;
      sum -= 2.0 * static_cast<double>(lambda);
    }
  }
  const double norm = sum > 0 ? PortableLog(1 + sum) / (kLn2 * sum) : 1.0;
  const float scale = static_cast<float>(norm * static_cast<double>(weight));
  for (std::size_t i = 0; i < size; ++i) {
    gradient[i] *= scale;
    hessian[i] *= scale;
  }
}

}  // namespace winnow
