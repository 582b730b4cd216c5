#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/tree/kernels.h"

namespace winnow::gbdt {

// The best cut found for a node.
struct Split {
  float gain = 0;
  int feature = -1;           // -1: none
  int last_left = -1;         // value bins up to it go left; if -1, only missing values do
  bool missing_left = false;  // where missing values go
  // For a categorical feature, instead of last_left: its value bins that go right, ascending.
  std::vector<int> right_bins;
  GradientSum left, right;

  // Whether this one is preferred, as in XGBoost: by gain, then by the lower feature.
  bool Beats(const Split& other) const {
    if (gain != other.gain) return gain > other.gain;
    return feature >= 0 && (other.feature < 0 || feature < other.feature);
  }
};

// One unit of a fixed-point sum of gradients or hessians.
struct GradientScale {
  double gradient = 1, hessian = 1;
};

// Bounds on a node's value from monotone constraints above it.
struct WeightBounds {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

// The gain and weight of a node, as in XGBoost 1.7's src/tree/param.h and split_evaluator.h.
class GainRule {
 public:
  explicit GainRule(const GbdtParameters& p)
      : lambda_(p.lambda),
        alpha_(p.alpha),
        min_child_weight_(p.min_child_weight),
        max_delta_step_(p.max_delta_step) {}

  // The leaf value before eta. 0 if the hessian is 0 or below min_child_weight.
  double Weight(double gradient, double hessian) const;
  double Weight(double gradient, double hessian, const WeightBounds& bounds) const;
  // Twice the loss reduction.
  double Gain(double gradient, double hessian) const;
  // The gain of a node with the value `weight`.
  double GainAt(double gradient, double hessian, double weight) const {
    return -(2.0 * gradient * weight + (hessian + lambda_) * weight * weight);
  }
  double lambda() const { return lambda_; }
  double alpha() const { return alpha_; }
  double min_child_weight() const { return min_child_weight_; }
  // Whether max_delta_step limits the magnitude of weights, and to what; without it, to infinity.
  bool limits_weights() const { return max_delta_step_ != 0; }
  double most_weight() const {
    return limits_weights() ? max_delta_step_ : std::numeric_limits<double>::infinity();
  }

 private:
  double Threshold(double gradient) const {
    if (gradient > alpha_) return gradient - alpha_;
    if (gradient < -alpha_) return gradient + alpha_;
    return 0;
  }

  double lambda_, alpha_, min_child_weight_, max_delta_step_;
};

}  // namespace winnow::gbdt
