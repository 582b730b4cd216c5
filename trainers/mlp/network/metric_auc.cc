#include "trainers/mlp/network/metric_auc.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace winnow::mlp {
namespace {

constexpr uint64_t kRowMask = 0xffffffff;

// Maps floats to whole numbers in the same order; both zeros are equal.
uint32_t OrderOf(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(score == 0 ? 0.0f : score);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

}  // namespace

double AreaUnderRoc(std::span<const float> score, std::span<const uint8_t> positive,
                    std::span<const float> weight) {
  // Ties stay in row order, so that sums have one order.
  std::vector<uint64_t> keys(score.size());
  for (std::size_t i = 0; i < score.size(); ++i)
    keys[i] = static_cast<uint64_t>(OrderOf(score[i])) << 32 | static_cast<uint64_t>(i);
  std::sort(keys.begin(), keys.end());
  double negatives = 0, positives = 0, area = 0;
  for (std::size_t begin = 0; begin < keys.size();) {
    double tied_negatives = 0, tied_positives = 0;
    std::size_t end = begin;
    for (; end < keys.size() && keys[end] >> 32 == keys[begin] >> 32; ++end) {
      const std::size_t row = keys[end] & kRowMask;
      const double w = weight.empty() ? 1.0 : static_cast<double>(weight[row]);
      (positive[row] != 0 ? tied_positives : tied_negatives) += w;
    }
    area += tied_positives * (negatives + 0.5 * tied_negatives);
    negatives += tied_negatives;
    positives += tied_positives;
    begin = end;
  }
  if (!(positives > 0) || !(negatives > 0)) return std::numeric_limits<double>::quiet_NaN();
  return area / (positives * negatives);
}

}  // namespace winnow::mlp
