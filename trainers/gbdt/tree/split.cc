#include "trainers/gbdt/tree/split.h"

#include <algorithm>
#include <cmath>

namespace winnow::gbdt {

double GainRule::Weight(double gradient, double hessian) const {
  if (hessian < min_child_weight_ || hessian <= 0) return 0;
  const double weight = -Threshold(gradient) / (hessian + lambda_);
  if (max_delta_step_ != 0 && std::fabs(weight) > max_delta_step_)
    return std::copysign(max_delta_step_, weight);
  return weight;
}

double GainRule::Weight(double gradient, double hessian, const WeightBounds& bounds) const {
  return std::clamp(Weight(gradient, hessian), bounds.lower, bounds.upper);
}

double GainRule::Gain(double gradient, double hessian) const {
  if (hessian <= 0) return 0;
  const double shrunk = Threshold(gradient);
  if (max_delta_step_ == 0) return shrunk * shrunk / (hessian + lambda_);
  return GainAt(gradient, hessian, Weight(gradient, hessian));
}

}  // namespace winnow::gbdt
