#pragma once

#include <Eigen/Core>
#include <functional>

namespace winnow {

// A function and its gradient, which it writes; a value that is not finite ends the search.
using Differentiable = std::function<double(const Eigen::VectorXd& at, Eigen::VectorXd& gradient)>;

struct Minimum {
  Eigen::VectorXd at;
  double value = 0;
};

// The best point that L-BFGS with bounds evaluates from `start` on, which is the first of them; it never
// gives more than `evaluations`. REQUIRES lower <= start <= upper. Source of the method: Nocedal, Math. Comp.
// 35 (1980), as NLopt has it.
Minimum Minimize(const Differentiable& function, const Eigen::VectorXd& start, const Eigen::VectorXd& lower,
                 const Eigen::VectorXd& upper, int evaluations);

}  // namespace winnow
