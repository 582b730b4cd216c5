#include "scheduler/models/fit.h"

#include <cmath>
#include <limits>

#include "scheduler/models/lbfgs.h"
#include "tests/catch.h"
#include "tests/scheduler/models/mixed_points.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// sin(5 x) of the first of three columns, with an error of each value.
Observations OneMatters(Index count, double error) {
  Observations seen{UnitRows(count, 3, 11), VectorXd(count), VectorXd::Zero(count), {}};
  for (Index i = 0; i < count; ++i)
    seen.values[i] = 1.3 * std::sin(5 * seen.points(i, 0)) + error * Normal(12, i, 0);
  return seen;
}
const FeatureMap kThree({{}, {}, {}});

TEST_CASE("Fit: the gradient of the log posterior is the one of central differences", "[scheduler]") {
  Observations seen = MixedObservations(20, 1);
  const Eigen::MatrixXd shared = UnitRows(20, 3, 7);
  seen.covariance = 0.1 * shared * shared.transpose();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    VectorXd packed(15), gradient, unused;
    for (Index i = 0; i < packed.size(); ++i) packed[i] = Uniform(seed, i, 0) - 0.7;
    CHECK(std::isfinite(MinusLogPosterior(MixedMap(), seen, {}, packed, gradient)));
    const VectorXd slopes = Slopes(
        [&](const VectorXd& at) { return MinusLogPosterior(MixedMap(), seen, {}, at, unused); }, packed);
    for (Index i = 0; i < packed.size(); ++i) {
      CAPTURE(seed, i);
      CHECK(gradient[i] == Approx(slopes[i]).epsilon(1e-5).margin(1e-6));
    }
  }
}

TEST_CASE("Fit: columns that do nothing get far longer lengths", "[scheduler]") {
  const Hyperparameters found = Fit(kThree, OneMatters(40, 0));
  CHECK(found.warping.length[1] > 3 * found.warping.length[0]);
  CHECK(found.warping.length[2] > 3 * found.warping.length[0]);
  CHECK(found.noise < 0.01);
}

TEST_CASE("Fit: from the mode of nearly the same observations alone it finds a mode as good", "[scheduler]") {
  const Hyperparameters former = Fit(kThree, OneMatters(40, 0.1));
  const Observations more = OneMatters(44, 0.1);
  FitSettings warm;
  warm.start = &former;
  warm.usual_starts = false;
  const Hyperparameters whole = Fit(kThree, more), found = Fit(kThree, more, warm);
  for (Index i = 0; i < 3; ++i) {
    const Eigen::VectorXd at = Eigen::Vector3d(0.3 * static_cast<double>(i), 0.5, 0.5);
    const Prediction one = GaussianProcess(kThree, whole, more).Predict(at);
    const Prediction other = GaussianProcess(kThree, found, more).Predict(at);
    CHECK(other.mean == Approx(one.mean).margin(0.05));
    CHECK(other.variance == Approx(one.variance).epsilon(0.2));
  }
}

TEST_CASE("Fit: finds how noisy values are", "[scheduler]") {
  const double noise = Fit(kThree, OneMatters(80, 0.5)).noise;
  CHECK(noise > 0.25 / 2);
  CHECK(noise < 0.25 * 2);
}

TEST_CASE("Fit: values without an error are taken for such, so that their last digits count", "[scheduler]") {
  CHECK(Fit(kThree, OneMatters(100, 0)).noise < 1e-7);
}

TEST_CASE("Fit: values that are equal, and a single one, give numbers", "[scheduler]") {
  Observations seen = OneMatters(1, 0);
  for (const Index count : {1, 12}) {
    seen = OneMatters(count, 0);
    seen.values.setZero();
    const Hyperparameters found = Fit(kThree, seen);
    CHECK(found.warping.length.allFinite());
    CHECK(found.signal > 0);
    CHECK(GaussianProcess(kThree, found, seen).Predict(VectorXd::Constant(3, 0.5)).mean ==
          Approx(0).margin(1e-6));
  }
}

TEST_CASE("Fit: without warping columns stay straight, with it they bend where that explains more",
          "[scheduler]") {
  Observations seen = OneMatters(40, 0);
  for (Index i = 0; i < 40; ++i) seen.values[i] = std::sin(8 * std::pow(seen.points(i, 0), 4));
  FitSettings settings;
  settings.warp = false;
  CHECK(Fit(kThree, seen, settings).warping.a == VectorXd::Ones(3));
  CHECK(Fit(kThree, seen).warping.a[0] > 1.3);
}

TEST_CASE("Fit: of many observations a part decides, and the same ones give the same bits", "[scheduler]") {
  const Observations seen = OneMatters(150, 0.1);
  FitSettings settings;
  settings.most_points = 60;
  const Hyperparameters one = Fit(kThree, seen, settings), other = Fit(kThree, seen, settings);
  CHECK(one.warping.length == other.warping.length);
  CHECK(one.noise == other.noise);
  CHECK(one.mean == other.mean);
  CHECK(one.warping.length[1] > 2 * one.warping.length[0]);
  const VectorXd at = VectorXd::Constant(3, 0.37);
  CHECK(GaussianProcess(kThree, one, seen).Predict(at).mean ==
        GaussianProcess(kThree, other, seen).Predict(at).mean);
}

TEST_CASE("Lbfgs: finds the bottom of Rosenbrock's valley, or the wall before it", "[scheduler]") {
  int asked = 0;
  const Differentiable valley = [&](const VectorXd& x, VectorXd& gradient) {
    ++asked;
    const double bend = x[1] - x[0] * x[0];
    gradient << -400 * x[0] * bend - 2 * (1 - x[0]), 200 * bend;
    return 100 * bend * bend + (1 - x[0]) * (1 - x[0]);
  };
  const VectorXd start = Eigen::Vector2d(-1.2, 1), lower = VectorXd::Constant(2, -2);
  const Minimum free = Minimize(valley, start, lower, VectorXd::Constant(2, 2), 200);
  CHECK(free.at.isApprox(VectorXd::Ones(2), 1e-3));
  CHECK(asked <= 200);
  const Minimum walled = Minimize(valley, start, lower, Eigen::Vector2d(0.5, 2), 200);
  CHECK(walled.at[0] == Approx(0.5));
  CHECK(walled.at[1] == Approx(0.25).epsilon(1e-3));
}

TEST_CASE("Lbfgs: a value that is no number ends the search with the best so far", "[scheduler]") {
  int asked = 0;
  const Differentiable broken = [&](const VectorXd& x, VectorXd& gradient) {
    gradient << 2 * x[0];
    return ++asked > 1 ? std::numeric_limits<double>::quiet_NaN() : x[0] * x[0];
  };
  const VectorXd one = VectorXd::Ones(1);
  const Minimum found = Minimize(broken, one, -2 * one, 2 * one, 50);
  CHECK(asked == 2);
  CHECK(found.at == one);
  CHECK(found.value == 1);
}

}  // namespace
}  // namespace winnow
