#include "scheduler/models/gaussian_process.h"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "scheduler/models/matern.h"
#include "tests/catch.h"
#include "tests/scheduler/models/mixed_points.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// sin(4x) + y over the unit square, exactly.
Observations Waves(Index count) {
  Observations seen{UnitRows(count, 2, 5), VectorXd(count), VectorXd::Zero(count), {}};
  for (Index i = 0; i < count; ++i) seen.values[i] = std::sin(4 * seen.points(i, 0)) + seen.points(i, 1);
  return seen;
}
Hyperparameters Straight(double length, double noise) {
  const VectorXd ones = VectorXd::Ones(2);
  return {{length * ones, ones, ones}, 1.5, noise, 0.3};
}

TEST_CASE("Gaussian process: goes through exact observations, and far away is what it was without them",
          "[scheduler]") {
  const Observations seen = Waves(15);
  const GaussianProcess process(FeatureMap({{}, {}}), Straight(0.3, 0), seen);
  for (Index i = 0; i < seen.count(); ++i) {
    const Prediction at = process.Predict(seen.points.row(i));
    CHECK(at.mean == Approx(seen.values[i]).margin(1e-6));
    CHECK(at.variance < 1e-6);
  }
  const Prediction far = process.Predict(Eigen::Vector2d(90, -90));
  CHECK(far.mean == Approx(0.3));
  CHECK(far.variance == Approx(1.5));
}

TEST_CASE("Gaussian process: between observations it knows how well it knows", "[scheduler]") {
  const GaussianProcess process(FeatureMap({{}, {}}), Straight(0.6, 1e-6), Waves(40));
  const MatrixXd others = UnitRows(200, 2, 6);
  double squares = 0;
  for (Index i = 0; i < others.rows(); ++i) {
    const Prediction at = process.Predict(others.row(i));
    squares += std::pow(at.mean - std::sin(4 * others(i, 0)) - others(i, 1), 2) / at.variance / 200;
  }
  CHECK(squares < 2);
}

TEST_CASE("Gaussian process: appended observations are the same as those from the start", "[scheduler]") {
  const Observations all = MixedObservations(30, 3);
  const Observations first{all.points.topRows(22), all.values.head(22), all.variances.head(22), {}};
  GaussianProcess grown(MixedMap(), MixedHyperparameters(), first);
  for (Index i = 22; i < 30; ++i) grown.Append(all.points.row(i), all.values[i], all.variances[i]);
  const GaussianProcess whole(MixedMap(), MixedHyperparameters(), all);
  const MatrixXd points = MixedPoints(20, 4);
  const auto [means, variances] = whole.PredictAll(points);
  CHECK(whole.Means(points).isApprox(means));
  for (Index i = 0; i < points.rows(); ++i) {
    CHECK(grown.Predict(points.row(i)).mean == Approx(means[i]).margin(1e-10));
    CHECK(grown.Predict(points.row(i)).variance == Approx(variances[i]).margin(1e-10));
  }
}

TEST_CASE("Gaussian process: a copy of an exact observation breaks nothing", "[scheduler]") {
  const Observations seen = Waves(10);
  GaussianProcess process(FeatureMap({{}, {}}), Straight(0.3, 0), seen);
  process.Append(seen.points.row(4), seen.values[4], 0);
  CHECK(process.Predict(seen.points.row(4)).mean == Approx(seen.values[4]).margin(1e-4));
  CHECK(std::isfinite(process.Predict(Eigen::Vector2d(0.5, 0.5)).mean));
}

TEST_CASE("Gaussian process: an uncertain observation moves it less than a certain one", "[scheduler]") {
  Observations seen{MatrixXd::Constant(1, 2, 0.5), VectorXd::Constant(1, 2), VectorXd::Zero(1), {}};
  const GaussianProcess certain(FeatureMap({{}, {}}), Straight(0.3, 0.01), seen);
  seen.variances[0] = 1;
  const GaussianProcess uncertain(FeatureMap({{}, {}}), Straight(0.3, 0.01), seen);
  seen.variances[0] = 0;
  seen.covariance = MatrixXd::Constant(1, 1, 1);
  const GaussianProcess shared(FeatureMap({{}, {}}), Straight(0.3, 0.01), seen);
  const VectorXd at = VectorXd::Constant(2, 0.5);
  CHECK(certain.Predict(at).mean > uncertain.Predict(at).mean + 0.3);
  CHECK(certain.Predict(at).variance < uncertain.Predict(at).variance);
  CHECK(shared.Predict(at).mean == uncertain.Predict(at).mean);
}

TEST_CASE("Gaussian process: gradients are those of central differences", "[scheduler]") {
  const GaussianProcess process(MixedMap(), MixedHyperparameters(), MixedObservations(25, 1));
  const MatrixXd points = MixedPoints(12, 8);
  for (Index i = 0; i < points.rows(); ++i) {
    const VectorXd point = points.row(i);
    VectorXd by_mean, by_variance;
    const Prediction at = process.Predict(point, by_mean, by_variance);
    CHECK(at.mean == Approx(process.Predict(point).mean));
    CHECK(at.variance == Approx(process.Predict(point).variance));
    const auto moved = [&](VectorXd to) {
      to.tail(2) = point.tail(2);
      return process.Predict(to);
    };
    const VectorXd mean = Slopes([&](const VectorXd& to) { return moved(to).mean; }, point);
    const VectorXd variance = Slopes([&](const VectorXd& to) { return moved(to).variance; }, point);
    for (Index j = 0; j < 4; ++j) {
      CHECK(by_mean[j] == Approx(mean[j]).margin(1e-7));
      CHECK(by_variance[j] == Approx(variance[j]).margin(1e-7));
    }
  }
}

TEST_CASE("Gaussian process: covariances stay positive definite where columns are inactive", "[scheduler]") {
  const MatrixXd features = MixedMap().Map(MixedPoints(120, 9), MixedHyperparameters().warping);
  const Eigen::SelfAdjointEigenSolver<MatrixXd> spectrum(Matern::Values(features, features));
  CHECK(spectrum.eigenvalues().minCoeff() > -1e-12);
  CHECK(Matern::Between(features, features).value.isApprox(Matern::Values(features, features), 1e-12));
}

TEST_CASE("Gaussian process: an indefinite matrix is mended by as much as it takes", "[scheduler]") {
  const MatrixXd ones = MatrixXd::Ones(5, 5);
  const MatrixXd factor = CholeskyFactor(ones);
  CHECK((factor * factor.transpose()).isApprox(ones, 1e-8));
}

TEST_CASE("Gaussian process: any matrix has a factor, however wrong it is", "[scheduler]") {
  const MatrixXd negative = -1e15 * MatrixXd::Ones(3, 3);
  CHECK(CholeskyFactor(negative).allFinite());
  CHECK(CholeskyFactor(MatrixXd::Constant(3, 3, NAN)) == MatrixXd::Identity(3, 3));
  CHECK(CholeskyFactor(MatrixXd::Zero(3, 3)) == MatrixXd::Identity(3, 3));
}

TEST_CASE("Feature map: any two categories are equally far apart, and what is inactive from all that is not",
          "[scheduler]") {
  const FeatureMap map({{4, true}});
  MatrixXd points(5, 1);
  points << 0, 1, 2, 3, kInactive;
  const VectorXd one = VectorXd::Ones(1);
  const MatrixXd mapped = map.Map(points, {0.5 * one, one, one});
  for (Index a = 0; a < 4; ++a) {
    for (Index b = 0; b < a; ++b) CHECK((mapped.row(a) - mapped.row(b)).norm() == Approx(2));
    CHECK((mapped.row(a) - mapped.row(4)).norm() >= 2);
  }
}

TEST_CASE("Feature map: a warped column keeps its ends and its order", "[scheduler]") {
  const FeatureMap map(std::vector<Column>(1));
  const VectorXd one = VectorXd::Ones(1);
  const MatrixXd mapped = map.Map(VectorXd::LinSpaced(21, 0, 1), {one, 3 * one, 0.5 * one});
  CHECK(mapped(0, 0) == Approx(0).margin(1e-6));
  CHECK(mapped(20, 0) == Approx(1).margin(1e-3));
  for (Index i = 1; i <= 20; ++i) CHECK(mapped(i, 0) > mapped(i - 1, 0));
}

}  // namespace
}  // namespace winnow
