#include "insight/fanova.h"

#include <cmath>

#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

double CoordinateOf(int64_t point, uint64_t dimension) {
  return RandomUnit(11, point, Purpose::kSimulation, dimension);
}

double Predict(const Forest::Tree& tree, const std::vector<double>& x) {
  int node = 0;
  while (tree[node].dimension >= 0)
    node = tree[node].below + (x[tree[node].dimension] < tree[node].cut ? 0 : 1);
  return tree[node].value;
}

// Cuts at eighths.
const Forest::Tree kTree = {{0, 0.25, 1, 0}, {2, 0.5, 3, 0},  {1, 0.625, 5, 0}, {-1, 0, 0, 1},
                            {-1, 0, 0, 4},   {0, 0.75, 7, 0}, {-1, 0, 0, -3.5}, {2, 0.125, 9, 0},
                            {-1, 0, 0, 6},   {-1, 0, 0, 2},   {-1, 0, 0, -1}};

TEST_CASE("Fanova: the shares of a small tree are those of sums over a grid", "[insight]") {
  constexpr int kSide = 8;
  double value[kSide][kSide][kSide], mean = 0, variance = 0;
  const auto each = [](const auto& body) {
    for (int i = 0; i < kSide; ++i)
      for (int j = 0; j < kSide; ++j)
        for (int k = 0; k < kSide; ++k) body(i, j, k);
  };
  constexpr double kCell = 1.0 / (kSide * kSide * kSide);
  each([&](int i, int j, int k) {
    value[i][j][k] = Predict(kTree, {(i + 0.5) / kSide, (j + 0.5) / kSide, (k + 0.5) / kSide});
    mean += value[i][j][k] * kCell;
  });
  double one[3][kSide] = {}, two[3][kSide][kSide] = {};  // pairs 01, 02, 12
  each([&](int i, int j, int k) {
    const double v = value[i][j][k] - mean;
    variance += v * v * kCell;
    one[0][i] += v / (kSide * kSide), one[1][j] += v / (kSide * kSide), one[2][k] += v / (kSide * kSide);
    two[0][i][j] += v / kSide, two[1][i][k] += v / kSide, two[2][j][k] += v / kSide;
  });
  double alone[3] = {}, both[3] = {};
  for (int d = 0; d < 3; ++d) {
    for (int i = 0; i < kSide; ++i) {
      alone[d] += one[d][i] * one[d][i] / kSide;
      for (int j = 0; j < kSide; ++j) both[d] += two[d][i][j] * two[d][i][j] / (kSide * kSide);
    }
  }
  const Fanova fanova = Analyse(Forest(3, {kTree}));
  for (int d = 0; d < 3; ++d) CHECK(fanova.singles[d].mean == Approx(alone[d] / variance).epsilon(1e-12));
  REQUIRE(fanova.pairs.size() == 3);
  CHECK(fanova.pairs[0].share.mean == Approx((both[0] - alone[0] - alone[1]) / variance).epsilon(1e-12));
  CHECK(fanova.pairs[1].share.mean == Approx((both[1] - alone[0] - alone[2]) / variance).epsilon(1e-12));
  CHECK(fanova.pairs[2].share.mean == Approx((both[2] - alone[1] - alone[2]) / variance).epsilon(1e-12));
  const std::vector<Share> marginal = Marginal(Forest(3, {kTree}), 0, {0, 0.1, 0.3, 0.9, 1});
  CHECK(marginal[1].mean == Approx(one[0][0] + mean));
  CHECK(marginal[2].mean == Approx(one[0][2] + mean));
  CHECK(marginal[0].mean == marginal[1].mean);
  CHECK(marginal[3].mean == marginal[4].mean);
  const std::vector<double> places = {0.5 / kSide, 3.5 / kSide, 7.5 / kSide};
  const std::vector<Share> joint = JointMarginal(Forest(3, {kTree}), 0, places, 2, places);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) {
      const auto at = [&](int place) { return static_cast<int>(places[place] * kSide); };
      CHECK(joint[3 * i + k].mean == Approx(two[1][at(i)][at(k)] + mean));
    }
}

TEST_CASE("Fanova: the mean and deviation are over the trees that vary", "[insight]") {
  const Forest::Tree first = {{0, 0.5, 1, 0}, {-1, 0, 0, 0}, {-1, 0, 0, 1}};
  const Forest::Tree second = {{1, 0.5, 1, 0}, {-1, 0, 0, 0}, {-1, 0, 0, 1}};
  const Forest::Tree constant = {{-1, 0, 0, 7}};
  const Fanova fanova = Analyse(Forest(2, {first, second, constant}));
  CHECK(fanova.varied == 2);
  CHECK(fanova.singles[0].mean == Approx(0.5));
  CHECK(fanova.singles[0].deviation == Approx(0.5));
  CHECK(fanova.pairs[0].share.mean == Approx(0).margin(1e-12));
  CHECK(Analyse(Forest(2, {constant})).varied == 0);
}

// y = x0 + x1 / 2 + 3 (x0 - 1/2) (x1 - 1/2), and two dimensions that do nothing: over the cube the variance
// is 1/12 + 1/48 + 9/144 = 1/6, of which x0 has 1/2, x1 1/8 and both together 3/8.
TEST_CASE("Fanova: finds the variance of a function whose shares are known", "[insight]") {
  ForestData data;
  data.x.resize(4);
  for (int64_t i = 0; i < 2000; ++i) {
    for (uint64_t d = 0; d < 4; ++d) data.x[d].push_back(CoordinateOf(i, d));
    const double a = data.x[0].back(), b = data.x[1].back();
    data.y.push_back(a + b / 2 + 3 * (a - 0.5) * (b - 0.5));
  }
  const Fanova fanova = Analyse(Forest::Fit(data, {.trees = 48, .least_leaf = 3, .seed = 1}));
  // A sample of n points tells a share within about sqrt(2 / n) = 0.03 of a normal variance; leaves of three
  // points have sides of about sqrt(3 / n), over which the function varies by less than that. Three times the
  // sum is allowed.
  constexpr double kTolerance = 0.1;
  CHECK(fanova.singles[0].mean == Approx(0.5).margin(kTolerance));
  CHECK(fanova.singles[1].mean == Approx(0.125).margin(kTolerance));
  CHECK(fanova.pairs[0].share.mean == Approx(0.375).margin(kTolerance));
  CHECK(fanova.singles[2].mean < 0.02);
  CHECK(fanova.singles[3].mean < 0.02);
  double sum = 0;
  for (const Share& single : fanova.singles) sum += single.mean;
  for (const Fanova::Pair& pair : fanova.pairs) sum += pair.share.mean;
  CHECK(sum <= 1 + 1e-9);
  CHECK(sum > 0.9);
  const std::vector<Share> marginal = Marginal(Forest::Fit(data, {.seed = 1}), 0, {0.1, 0.5, 0.9});
  CHECK(marginal[1].mean - marginal[0].mean == Approx(0.4).margin(0.06));
  CHECK(marginal[2].mean - marginal[1].mean == Approx(0.4).margin(0.06));
}

TEST_CASE("Forest: the same seed gives the same forest, another one another", "[insight]") {
  ForestData data;
  data.x.resize(2);
  for (int64_t i = 0; i < 200; ++i) {
    for (uint64_t d = 0; d < 2; ++d) data.x[d].push_back(CoordinateOf(i, d));
    data.y.push_back(data.x[0].back());
  }
  const auto shares = [&](uint64_t seed) {
    return Analyse(Forest::Fit(data, {.seed = seed})).singles[1].mean;
  };
  CHECK(shares(1) == shares(1));
  CHECK(shares(1) != shares(2));
}

TEST_CASE("Forest: a fit that nobody waits for breaks off", "[insight]") {
  ForestData data;
  data.x = {{0.1, 0.4, 0.6, 0.9, 0.2, 0.8}};
  data.y = {1, 2, 3, 4, 5, 6};
  int asked = 0;
  const Forest forest = Forest::Fit(data, {.trees = 100}, [&] { return ++asked > 5; });
  CHECK(forest.trees().size() == 5);
}

}  // namespace
}  // namespace winnow
