#include "trainers/gbdt/tree/category_split.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace winnow::gbdt {
namespace {

// Keeps the best of the given cuts, the first among equals.
class BestCut {
 public:
  BestCut(const GradientSum& total, const CategoryGain& gain) : total_(total), gain_(gain) {}

  template <typename RightBins>
  void Try(const GradientSum& left, bool missing_left, const RightBins& right_bins) {
    const float gain = gain_(left);
    if (!(gain > best_.gain)) return;
    best_.gain = gain;
    best_.missing_left = missing_left;
    best_.left = left;
    best_.right = total_ - left;
    best_.right_bins = right_bins();
  }
  Split Take() {
    std::sort(best_.right_bins.begin(), best_.right_bins.end());
    return std::move(best_);
  }

 private:
  const GradientSum& total_;
  const CategoryGain& gain_;
  Split best_;
};

}  // namespace

Split BestCategorySplit(const GbdtParameters& parameters, const std::vector<GradientSum>& bins,
                        const GradientSum& missing, const GradientSum& total, const CategoryGain& gain,
                        const CategoryWeight& weight) {
  BestCut best(total, gain);
  const int categories = static_cast<int>(bins.size());
  if (categories < parameters.max_cat_to_onehot) {
    for (int c = 0; c < categories; ++c) {
      const auto alone = [&] { return std::vector<int>{c}; };
      best.Try(total - bins[c], true, alone);
      if (!(missing == GradientSum{})) best.Try(total - bins[c] - missing, false, alone);
    }
    return best.Take();
  }
  std::vector<std::pair<double, int>> order;
  for (int c = 0; c < categories; ++c) order.emplace_back(weight(bins[c]), c);
  std::sort(order.begin(), order.end());
  const auto those = [&](int begin, int end) {
    std::vector<int> chosen;
    for (int i = begin; i < end; ++i) chosen.push_back(order[i].second);
    return chosen;
  };
  const int most = static_cast<int>(std::min<int64_t>(parameters.max_cat_threshold, categories));
  GradientSum low;  // of the first i + 1 in order: they go right, missing values with the others
  for (int i = 0; i + 1 < categories && i < most; ++i) {
    low += bins[order[i].second];
    best.Try(total - low, true, [&] { return those(0, i + 1); });
    if (!(missing == GradientSum{})) best.Try(total - low - missing, false, [&] { return those(0, i + 1); });
  }
  GradientSum high;  // of the last ones
  for (int i = categories - 1; i > 0 && categories - i <= most; --i) {
    high += bins[order[i].second];
    best.Try(total - high, true, [&] { return those(i, categories); });
    if (!(missing == GradientSum{}))
      best.Try(total - high - missing, false, [&] { return those(i, categories); });
  }
  return best.Take();
}

}  // namespace winnow::gbdt
