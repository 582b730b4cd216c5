#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <functional>

#include "scheduler/models/gaussian_process.h"
#include "scheduler/space/random.h"

namespace winnow {

inline double Uniform(uint64_t seed, int64_t row, uint64_t column) {
  return RandomUnit(seed, row, Purpose::kSimulation, column);
}

// Nearly standard normal.
inline double Normal(uint64_t seed, int64_t row, uint64_t column) {
  double sum = -6;
  for (uint64_t i = 0; i < 12; ++i) sum += Uniform(seed, row, 1000 + 12 * column + i);
  return sum;
}

// Columns of every kind: a number, a conditional one, a category of three, a conditional one of two.
inline FeatureMap MixedMap() { return FeatureMap({{0, false}, {0, true}, {3, false}, {2, true}}); }

// Rows of such columns; of the conditional ones about a third is inactive.
inline Eigen::MatrixXd MixedPoints(Eigen::Index count, uint64_t seed) {
  Eigen::MatrixXd points(count, 4);
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto u = [&](uint64_t column) { return Uniform(seed, i, column); };
    points.row(i) << u(0), u(1) < 0.35 ? kInactive : u(2), std::floor(3 * u(3)),
        u(4) < 0.35 ? kInactive : std::floor(2 * u(5));
  }
  return points;
}

inline Hyperparameters MixedHyperparameters() {
  return {
      {Eigen::Vector4d(0.4, 0.7, 1.1, 0.9), Eigen::Vector4d(1.3, 0.8, 1, 1), Eigen::Vector4d(0.7, 1.4, 1, 1)},
      0.8,
      0.05,
      0.2};
}

inline Observations MixedObservations(Eigen::Index count, uint64_t seed) {
  Observations seen{MixedPoints(count, seed), Eigen::VectorXd(count), Eigen::VectorXd(count), {}};
  for (Eigen::Index i = 0; i < count; ++i) {
    seen.values[i] = std::sin(5 * seen.points(i, 0)) + 0.3 * seen.points(i, 2) + 0.1 * Uniform(seed, i, 6);
    seen.variances[i] = 0.1 * Uniform(seed, i, 7);
  }
  return seen;
}

// By central differences; inactive coordinates are left at 0.
inline Eigen::VectorXd Slopes(const std::function<double(const Eigen::VectorXd&)>& function,
                              const Eigen::VectorXd& at) {
  constexpr double kStep = 1e-5;
  Eigen::VectorXd slopes = Eigen::VectorXd::Zero(at.size());
  for (Eigen::Index i = 0; i < at.size(); ++i) {
    if (std::isnan(at[i])) continue;
    Eigen::VectorXd more = at, less = at;
    more[i] += kStep;
    less[i] -= kStep;
    slopes[i] = (function(more) - function(less)) / (2 * kStep);
  }
  return slopes;
}

// Rows of a unit square or cube.
inline Eigen::MatrixXd UnitRows(Eigen::Index count, Eigen::Index columns, uint64_t seed) {
  Eigen::MatrixXd points(count, columns);
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index j = 0; j < columns; ++j) points(i, j) = Uniform(seed, i, static_cast<uint64_t>(j));
  }
  return points;
}

}  // namespace winnow
