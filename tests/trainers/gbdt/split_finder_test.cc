#include "trainers/gbdt/tree/split_finder.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/trainers/gbdt/feature_histograms.h"
#include "tests/trainers/gbdt/sample_data.h"

namespace winnow::gbdt {
namespace {

bool Same(const Split& a, const Split& b) {
  return a.gain == b.gain && a.feature == b.feature && a.last_left == b.last_left &&
         a.missing_left == b.missing_left && a.left == b.left && a.right == b.right &&
         a.right_bins == b.right_bins;
}

// A node of a table in bins, whose gradients follow from the label.
struct Node {
  DataSet data;
  std::vector<FeatureCuts> cuts;
  BinMatrix matrix;
  HistogramShape shape;
  FixedGradients gradients;
  std::vector<uint32_t> rows;
  GradientSum total;

  Node(uint64_t seed, int max_bin)
      : data(SampleData(400 + static_cast<int64_t>(HashOf(seed, 0) % 800), 2, seed)) {
    Bin(max_bin);
    for (uint64_t i = 0; i < static_cast<uint64_t>(data.rows); ++i) {
      const auto g = static_cast<int32_t>(HashOf(seed, 1, i) % 4000) - (data.label[i] == 1 ? 2500 : 1500);
      gradients.narrow.push_back((static_cast<uint32_t>(g) << 16) |
                                 static_cast<uint32_t>(HashOf(seed, 2, i) % 9000));
      if (HashOf(seed, 3, i) % 3 > 0) rows.push_back(static_cast<uint32_t>(i));
    }
    total = TotalOf(gradients, rows);
  }

  void Bin(int max_bin) {
    BinnedTable table = InBins(data, max_bin);
    cuts = std::move(table.cuts);
    matrix = std::move(table.matrix);
    shape = HistogramShape(matrix.layout(), FirstNumbers(static_cast<int>(cuts.size())));
  }

  // The best split where the slots are searched in `parts` parts.
  Split Best(const GbdtParameters& parameters, bool packed, int parts = 1,
             const std::vector<int>& directions = {}, std::vector<uint8_t> allowed = {}) const {
    if (allowed.empty()) allowed.assign(cuts.size(), 1);
    const Histogram histogram = CountedHistogram(matrix, shape, gradients, rows, packed);
    const SplitFinder finder(parameters, matrix.layout(), cuts, directions);
    SplitFinder::Scratch scratch;
    Split best;
    for (int part = 0; part < parts; ++part) {
      const Split found = finder.Best(
          shape, {0x1p-12, 0x1p-13},
          {&histogram, total, {}, &allowed, shape.slots() * part / parts, shape.slots() * (part + 1) / parts},
          &scratch);
      if (found.Beats(best)) best = found;
    }
    return best;
  }
};

// The parameters of one of the ways that gains are reckoned.
GbdtParameters Way(uint64_t seed) {
  GbdtParameters p;
  p.lambda = static_cast<double>(seed % 3);
  p.alpha = seed % 4 == 1 ? 0.4 : 0;
  p.max_delta_step = seed % 4 == 2 ? 0.3 : 0;
  p.min_child_weight = seed % 5 == 0 ? 20 : 1;
  return p;
}

// The best gain of all cuts of all features, from the values of the rows.
double BestByBruteForce(const Node& node, const GbdtParameters& p) {
  const GainRule rule(p);
  const auto gain = [&](const GradientSum& sum) {
    return rule.Gain(static_cast<double>(sum.gradient) * 0x1p-12, static_cast<double>(sum.hessian) * 0x1p-13);
  };
  const BinSums sums = CountedSums(node.data, node.cuts, node.gradients, node.rows);
  double best = 0;
  for (std::size_t f = 0; f < sums.size(); ++f) {
    for (int last_left = -1; last_left < node.cuts[f].bins(); ++last_left) {
      for (const bool missing_left : {false, true}) {
        GradientSum left;
        for (int bin = 0; bin <= last_left; ++bin) left += sums[f][bin];
        if (missing_left && node.cuts[f].has_missing) left += sums[f].back();
        const GradientSum right = node.total - left;
        const double lighter = static_cast<double>(std::min(left.hessian, right.hessian)) * 0x1p-13;
        if (lighter < p.min_child_weight || lighter <= 0) continue;
        best = std::max(best, gain(left) + gain(right) - gain(node.total));
      }
    }
  }
  return best;
}

TEST_CASE("SplitFinder: the best of all cuts of all features, by brute force", "[gbdt]") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Node node(seed, seed % 2 == 0 ? 256 : 20);
    INFO("seed " << seed);
    CHECK(node.Best(Way(seed), true).gain == Approx(BestByBruteForce(node, Way(seed))).epsilon(1e-5));
  }
}

TEST_CASE("SplitFinder: the same split from packed and wide sums, and whatever parts the slots are in",
          "[gbdt]") {
  const std::vector<int> directions = {1, 0, -1, 0, 0, 1};
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Node node(seed, seed % 3 == 0 ? 1000 : 256);
    for (const std::vector<int>& limits : {std::vector<int>(), directions}) {
      const Split split = node.Best(Way(seed), true, 1, limits);
      CHECK(split.feature >= 0);
      for (int parts = 1; parts <= node.shape.slots(); ++parts) {
        INFO("seed " << seed << ", parts " << parts);
        CHECK(Same(node.Best(Way(seed), true, parts, limits), split));
        CHECK(Same(node.Best(Way(seed), false, parts, limits), split));
      }
    }
  }
}

TEST_CASE("SplitFinder: a split's sides are the sums of the rows that go there", "[gbdt]") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Node node(seed, 256);
    const Split split = node.Best(Way(seed), true);
    GradientSum left, right;
    for (uint32_t row : node.rows) {
      const int bin = node.matrix.BinOf(row, split.feature);
      const bool missing = bin == node.cuts[split.feature].bins();
      ((missing ? split.missing_left : bin <= split.last_left) ? left : right) += node.gradients.Of(row);
    }
    CHECK(split.left == left);
    CHECK(split.right == right);
  }
}

TEST_CASE("SplitFinder: only features that are allowed are split by", "[gbdt]") {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Node node(seed, 256);
    for (int feature = 0; feature < 6; ++feature) {
      std::vector<uint8_t> allowed(6);
      allowed[feature] = 1;
      const Split split = node.Best(Way(1), true, 1, {}, allowed);
      CHECK((split.feature == feature || split.feature == -1));
    }
    CHECK(node.Best(Way(1), true, 1, {}, std::vector<uint8_t>(6)).feature == -1);
  }
}

TEST_CASE("SplitFinder: of features that gain the same the first wins, wherever its slot is", "[gbdt]") {
  Node node(1, 256);
  node.data.columns[5] = node.data.columns[2];  // twice the same, in slots of their own kind of order
  node.data.columns[0] = node.data.columns[1];
  node.Bin(256);
  for (const auto& [features, first] : {std::pair{std::vector<uint8_t>{0, 0, 1, 0, 0, 1}, 2},
                                        std::pair{std::vector<uint8_t>{1, 1, 0, 0, 0, 0}, 0}}) {
    for (int parts = 1; parts <= node.shape.slots(); ++parts)
      CHECK(node.Best(Way(1), true, parts, {}, features).feature == first);
  }
}

TEST_CASE("SplitFinder: a side's value keeps to the direction and to the bounds", "[gbdt]") {
  const std::vector<int> rising(6, 1), falling(6, -1);
  int differ = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Node node(seed, 256);
    const GbdtParameters p = Way(seed);
    const GradientScale scale{0x1p-12, 0x1p-13};
    for (const std::vector<int>* directions : {&rising, &falling}) {
      const Split split = node.Best(p, true, 1, *directions);
      if (split.feature < 0) continue;
      const SplitFinder finder(p, node.matrix.layout(), node.cuts, *directions);
      const double left = finder.WeightOf(split.left, scale, {}),
                   right = finder.WeightOf(split.right, scale, {});
      CHECK((left - right) * (*directions)[0] <= 0);
      WeightBounds below, above;
      finder.ChildBounds(split, scale, {-1, 1}, &below, &above);
      if ((*directions)[0] < 0) std::swap(below, above);
      CHECK(below.upper == above.lower);
      CHECK(below.lower == -1);
      CHECK(above.upper == 1);
      differ += !Same(split, node.Best(p, true));
    }
  }
  CHECK(differ > 10);  // the constraint ruled the best one out
}

}  // namespace
}  // namespace winnow::gbdt
