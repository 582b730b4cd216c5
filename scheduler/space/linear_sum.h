#pragma once

#include <cmath>

#include "scheduler/space/types.h"

namespace winnow {

// The sum of a linear constraint's terms, added in their order. It may miss a bound by what rounding takes:
// in doubles 0.1 + 0.2 is more than 0.3, and 0.2 + 0.7 + 0.1 less than 1.
class LinearSum {
 public:
  void Add(double term) {
    sum_ += term;
    size_ += std::abs(term);
  }

  bool IsWithin(const LinearConstraint& constraint) const {
    return (constraint.min <= sum_ || constraint.min - sum_ < Slack(constraint.min)) &&
           (sum_ <= constraint.max || sum_ - constraint.max < Slack(constraint.max));
  }

 private:
  double Slack(double bound) const { return 1e-12 * (size_ + std::abs(bound)); }

  double sum_ = 0, size_ = 0;  // of the terms, and of their absolute values
};

}  // namespace winnow
