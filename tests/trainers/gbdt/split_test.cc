#include "trainers/gbdt/tree/split.h"

#include <cmath>

#include "base/hash.h"
#include "tests/catch.h"
#include "trainers/gbdt/tree/split_finder.h"

namespace winnow::gbdt {
namespace {

// One feature in bins, with plain numbers for sums; the scale is 1.
struct Feature {
  std::vector<GradientSum> bins;
  std::vector<FeatureCuts> cuts{1};
  BinLayout layout;
  GradientSum total;

  Feature(std::vector<GradientSum> values, GradientSum missing, bool has_missing) : bins(std::move(values)) {
    for (std::size_t bin = 1; bin < bins.size(); ++bin) cuts[0].thresholds.push_back(static_cast<float>(bin));
    layout = LoneLayout(cuts, {});
    if (has_missing) bins.push_back(missing);
    layout.features[0].has_missing = has_missing;
    layout.groups[0].bins = layout.slots[0].bins = static_cast<int>(bins.size());
    for (const GradientSum& sum : bins) total += sum;
  }
  int values() const { return layout.features[0].values; }
  bool has_missing() const { return layout.features[0].has_missing; }

  Split Best(const GbdtParameters& parameters, bool packed) const {
    const HistogramShape shape(layout, {0});
    Histogram histogram;
    histogram.packed = packed;
    histogram.words.resize(WordsOf(shape, packed));
    for (std::size_t bin = 0; bin < bins.size(); ++bin) {
      if (packed)
        histogram.words[bin] = Pack(bins[bin]);
      else
        reinterpret_cast<GradientSum*>(histogram.words.data())[bin] = bins[bin];
    }
    const std::vector<uint8_t> allowed = {1};
    const std::vector<int> directions;
    const SplitFinder finder(parameters, layout, cuts, directions);
    SplitFinder::Scratch scratch;
    return finder.Best(shape, {}, {&histogram, total, {}, &allowed, 0, 1}, &scratch);
  }
  // The split from sums in both forms.
  Split Best(const GbdtParameters& parameters) const {
    const Split split = Best(parameters, true), wide = Best(parameters, false);
    CHECK(split.gain == wide.gain);
    CHECK(split.last_left == wide.last_left);
    CHECK(split.missing_left == wide.missing_left);
    CHECK(split.left == wide.left);
    return split;
  }
};

double PlainGain(double g, double h, const GbdtParameters& p) {
  if (h <= 0) return 0;
  const double shrunk = std::fabs(g) <= p.alpha ? 0 : g - std::copysign(p.alpha, g);
  double weight = -shrunk / (h + p.lambda);
  if (p.max_delta_step == 0) return shrunk * shrunk / (h + p.lambda);
  if (h < p.min_child_weight) weight = 0;
  if (std::fabs(weight) > p.max_delta_step) weight = std::copysign(p.max_delta_step, weight);
  return -(2 * g * weight + (h + p.lambda) * weight * weight);
}

// The best gain over every way to cut the values and to send the missing ones.
double BestByBruteForce(const Feature& feature, const GbdtParameters& p) {
  double best = 0;
  const double node =
      PlainGain(static_cast<double>(feature.total.gradient), static_cast<double>(feature.total.hessian), p);
  for (int last_left = -1; last_left < feature.values(); ++last_left) {
    for (const bool missing_left : {false, true}) {
      GradientSum left;
      for (int bin = 0; bin <= last_left; ++bin) left += feature.bins[bin];
      if (missing_left && feature.has_missing()) left += feature.bins.back();
      const GradientSum right = feature.total - left;
      if (static_cast<double>(left.hessian) < p.min_child_weight) continue;
      if (static_cast<double>(right.hessian) < p.min_child_weight) continue;
      best = std::max(
          best, PlainGain(static_cast<double>(left.gradient), static_cast<double>(left.hessian), p) +
                    PlainGain(static_cast<double>(right.gradient), static_cast<double>(right.hessian), p) -
                    node);
    }
  }
  return best;
}

TEST_CASE("Split: the best of all cuts, by brute force", "[gbdt]") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto draw = [&](uint64_t i, uint64_t n) { return static_cast<int64_t>(HashOf(seed, i) % n); };
    std::vector<GradientSum> values;
    for (int64_t b = 0; b < 1 + draw(0, 9); ++b)
      values.push_back(
          {draw(10 + static_cast<uint64_t>(b), 41) - 20, draw(30 + static_cast<uint64_t>(b), 8)});
    const Feature feature(values, {draw(1, 41) - 20, draw(2, 8)}, draw(3, 2) == 0);
    GbdtParameters p;
    p.lambda = static_cast<double>(draw(4, 3));
    p.alpha = static_cast<double>(draw(5, 3)) * 1.5;
    p.min_child_weight = static_cast<double>(draw(6, 4)) + 0.5;
    p.max_delta_step = draw(7, 2) == 0 ? 0 : 0.7;
    const Split split = feature.Best(p);
    const double expected = BestByBruteForce(feature, p);
    INFO("seed " << seed);
    if (expected <= 1e-6)
      CHECK(split.feature == -1);
    else
      CHECK(split.gain == Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("Split: missing values go where they gain most", "[gbdt]") {
  GbdtParameters p;
  // Missing rows look like the left bin.
  const Split left = Feature({{-10, 5}, {10, 5}}, {-8, 4}, true).Best(p);
  CHECK(left.missing_left);
  CHECK(left.last_left == 0);
  CHECK(left.left == GradientSum{-18, 9});
  const Split right = Feature({{-10, 5}, {10, 5}}, {8, 4}, true).Best(p);
  CHECK_FALSE(right.missing_left);
  CHECK(right.right == GradientSum{18, 9});
  // The values are all equal: missing against all others.
  const Split apart = Feature({{10, 5}, {10, 5}}, {-20, 5}, true).Best(p);
  CHECK(apart.last_left == -1);
  CHECK(apart.missing_left);
  CHECK(apart.left == GradientSum{-20, 5});
  // Without missing values in the node, they would go right, as in XGBoost.
  CHECK_FALSE(Feature({{-10, 5}, {10, 5}}, {0, 0}, true).Best(p).missing_left);
}

TEST_CASE("Split: min_child_weight bounds the hessian of both sides", "[gbdt]") {
  const Feature feature({{-30, 2}, {1, 5}, {9, 5}}, {}, false);
  GbdtParameters p;
  p.min_child_weight = 2;
  CHECK(feature.Best(p).last_left == 0);
  p.min_child_weight = 2.01;
  CHECK(feature.Best(p).last_left == 1);
  p.min_child_weight = 6;
  CHECK(feature.Best(p).feature == -1);
}

TEST_CASE("Split: of equal gains the first wins", "[gbdt]") {
  // Cutting after bin 0 and after the empty bins 1 and 2 is the same cut.
  CHECK(Feature({{-5, 3}, {0, 0}, {0, 0}, {5, 3}}, {}, false).Best(GbdtParameters{}).last_left == 0);
}

TEST_CASE("Split: leaf weights with lambda, alpha and max_delta_step", "[gbdt]") {
  GbdtParameters p;
  p.lambda = 2;
  CHECK(GainRule(p).Weight(-6, 4) == 1);
  p.alpha = 3;
  CHECK(GainRule(p).Weight(-6, 4) == 0.5);
  CHECK(GainRule(p).Weight(9, 4) == -1);
  CHECK(GainRule(p).Weight(2, 4) == 0);
  p.max_delta_step = 0.25;
  CHECK(GainRule(p).Weight(-6, 4) == 0.25);
  CHECK(GainRule(p).Weight(9, 4) == -0.25);
  p.min_child_weight = 5;
  CHECK(GainRule(p).Weight(-6, 4) == 0);
  p.min_child_weight = 0;
  CHECK(GainRule(p).Weight(-6, 0) == 0);
}

}  // namespace
}  // namespace winnow::gbdt
