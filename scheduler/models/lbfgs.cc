#include "scheduler/models/lbfgs.h"

#include <nlopt.h>

#include <cmath>
#include <limits>
#include <memory>

namespace winnow {
namespace {

using Eigen::VectorXd;

// Progress below which further steps are not worth their evaluations.
constexpr double kRelativeTolerance = 1e-6;

struct Search {
  const Differentiable& function;
  nlopt_opt optimizer;
  Minimum best;
  bool ended = false;
};

double Evaluate(unsigned dimensions, const double* x, double* gradient, void* data) {
  auto& search = *static_cast<Search*>(data);
  // NLopt may go on with a line search that it has begun.
  if (gradient != nullptr) Eigen::Map<VectorXd>(gradient, dimensions).setZero();
  if (search.ended) return std::numeric_limits<double>::max();
  const VectorXd at = Eigen::Map<const VectorXd>(x, dimensions);
  VectorXd slope = VectorXd::Zero(dimensions);
  const double value = search.function(at, slope);
  if (!std::isfinite(value) || !slope.allFinite()) {
    nlopt_force_stop(search.optimizer);
    search.ended = true;
    return std::numeric_limits<double>::max();
  }
  if (search.best.at.size() == 0 || value < search.best.value) search.best = {at, value};
  if (gradient != nullptr) Eigen::Map<VectorXd>(gradient, dimensions) = slope;
  return value;
}

}  // namespace

Minimum Minimize(const Differentiable& function, const VectorXd& start, const VectorXd& lower,
                 const VectorXd& upper, int evaluations) {
  const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimizer(
      nlopt_create(NLOPT_LD_LBFGS, static_cast<unsigned>(start.size())), &nlopt_destroy);
  Search search{function, optimizer.get(), {}, false};
  nlopt_set_min_objective(optimizer.get(), &Evaluate, &search);
  nlopt_set_lower_bounds(optimizer.get(), lower.data());
  nlopt_set_upper_bounds(optimizer.get(), upper.data());
  nlopt_set_ftol_rel(optimizer.get(), kRelativeTolerance);
  nlopt_set_maxeval(optimizer.get(), evaluations);
  VectorXd at = start;
  double value = 0;
  // Its result code tells why it stopped; the best point seen is the answer in every case.
  nlopt_optimize(optimizer.get(), at.data(), &value);
  if (search.best.at.size() == 0) search.best = {start, std::numeric_limits<double>::infinity()};
  return search.best;
}

}  // namespace winnow
