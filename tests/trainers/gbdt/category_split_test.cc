#include <algorithm>

#include "base/hash.h"
#include "tests/catch.h"
#include "trainers/gbdt/tree/split_finder.h"

namespace winnow::gbdt {
namespace {

// Sums of a few categories and of missing values, with plain numbers; the scale is 1.
struct Categories {
  std::vector<GradientSum> bins;
  GradientSum missing, total;

  Categories(uint64_t seed, int count, bool with_missing) {
    const auto draw = [&](uint64_t i, uint64_t n) { return static_cast<int64_t>(HashOf(seed, i) % n); };
    for (uint64_t c = 0; c < static_cast<uint64_t>(count); ++c)
      bins.push_back({draw(c, 81) - 40, draw(100 + c, 9) + 1});
    if (with_missing) missing = {draw(50, 81) - 40, draw(51, 9) + 1};
    for (const GradientSum& bin : bins) total += bin;
    total += missing;
  }

  float Gain(const GradientSum& left, const GbdtParameters& p) const {
    const GainRule rule(p);
    const auto side = [&](const GradientSum& sum) {
      return rule.Gain(static_cast<double>(sum.gradient), static_cast<double>(sum.hessian));
    };
    const GradientSum right = total - left;
    const auto lighter = static_cast<double>(std::min(left.hessian, right.hessian));
    if (lighter < p.min_child_weight || lighter <= 0) return -1;
    return static_cast<float>(side(left) + side(right) - side(total));
  }

  Split Best(const GbdtParameters& p) const {
    const GainRule rule(p);
    return BestCategorySplit(
        p, bins, missing, total, [&](const GradientSum& left) { return Gain(left, p); },
        [&](const GradientSum& sum) {
          return rule.Weight(static_cast<double>(sum.gradient), static_cast<double>(sum.hessian));
        });
  }

  GradientSum Left(const std::vector<int>& right_bins, bool missing_left) const {
    GradientSum left = missing_left ? total : total - missing;
    for (int bin : right_bins) left = left - bins[bin];
    return left;
  }

  // Every set of categories that may go right, some staying left, with missing values on either side.
  float BestOf(const GbdtParameters& p, bool singles_only) const {
    float best = 0;
    for (uint32_t set = 1; set + 1 < 1u << bins.size(); ++set) {
      if (singles_only && (set & (set - 1)) != 0) continue;
      std::vector<int> right;
      for (int bin = 0; bin < static_cast<int>(bins.size()); ++bin) {
        if (set >> bin & 1) right.push_back(bin);
      }
      for (const bool missing_left : {true, false}) best = std::max(best, Gain(Left(right, missing_left), p));
    }
    return best;
  }
};

GbdtParameters Unregularised() {
  GbdtParameters p;
  p.lambda = 0;  // then cutting the order of weights in two is the best of all divisions (Fisher 1958)
  p.min_child_weight = 0;
  return p;
}

TEST_CASE("Categories: the best of all divisions, by brute force", "[gbdt]") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Categories node(seed, 4 + static_cast<int>(seed % 5), seed % 2 == 0);
    const Split split = node.Best(Unregularised());
    INFO("seed " << seed);
    CHECK(split.gain == Approx(node.BestOf(Unregularised(), false)).epsilon(1e-5));
    // Rows go where the split says.
    CHECK(std::is_sorted(split.right_bins.begin(), split.right_bins.end()));
    CHECK_FALSE(split.right_bins.empty());
    CHECK(split.right_bins.size() < node.bins.size());
    CHECK(split.left == node.Left(split.right_bins, split.missing_left));
    CHECK(split.right == node.total - split.left);
  }
}

TEST_CASE("Categories: a split separates few of them one by one", "[gbdt]") {
  GbdtParameters p;
  p.max_cat_to_onehot = 8;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Categories node(seed, 2 + static_cast<int>(seed % 6), seed % 2 == 0);
    const Split split = node.Best(p);
    const float expected = node.BestOf(p, true);
    INFO("seed " << seed);
    CHECK(split.gain == Approx(expected).epsilon(1e-5));
    if (expected > 0) CHECK(split.right_bins.size() == 1);
  }
  // From max_cat_to_onehot on they are divided in two.
  const Categories eight(3, 8, false);
  p.lambda = 0;
  CHECK(eight.Best(p).gain == Approx(eight.BestOf(p, false)).epsilon(1e-5));
  CHECK(eight.BestOf(p, false) > eight.BestOf(p, true));
}

TEST_CASE("Categories: missing values go to the side that gains more", "[gbdt]") {
  Categories node(1, 6, true);
  for (std::size_t c = 0; c < 6; ++c) node.bins[c] = {c < 3 ? -20 : 20, 5};
  for (const int64_t gradient : {-20, 20}) {
    node.missing = {gradient, 5};
    node.total = {gradient, 35};
    const Split split = node.Best(Unregularised());
    const bool low_right = split.right_bins == std::vector<int>{0, 1, 2};
    CHECK((low_right || split.right_bins == std::vector<int>{3, 4, 5}));
    CHECK(split.missing_left == (low_right == (gradient > 0)));
  }
}

TEST_CASE("Categories: max_cat_threshold bounds those on the side that is listed", "[gbdt]") {
  GbdtParameters p = Unregularised();
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Categories node(seed, 12, seed % 2 == 0);
    p.max_cat_threshold = 64;
    const float best = node.Best(p).gain;
    p.max_cat_threshold = 2;
    const Split limited = node.Best(p);
    CHECK(limited.right_bins.size() <= 2);
    CHECK(limited.gain <= best);
    CHECK(limited.gain > 0);
  }
}

TEST_CASE("Categories: nothing where both sides cannot have min_child_weight", "[gbdt]") {
  GbdtParameters p;
  p.min_child_weight = 1000;
  CHECK(Categories(5, 7, true).Best(p).gain == 0);
  CHECK(Categories(5, 1, false).Best(GbdtParameters{}).gain == 0);
}

}  // namespace
}  // namespace winnow::gbdt
