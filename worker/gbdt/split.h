#pragma once

#include "worker/gbdt/bin_matrix.h"
#include "worker/gbdt/histogram.h"
#include "worker/gbdt/hyperparameters.h"

namespace winnow {

// The gain and weight of a node, as XGBoost 1.7's src/tree/param.h and split_evaluator.h define them.
class GainRule {
 public:
  explicit GainRule(const GbdtParameters& p)
      : lambda_(p.lambda),
        alpha_(p.alpha),
        min_child_weight_(p.min_child_weight),
        max_delta_step_(p.max_delta_step) {}

  // The leaf value before eta. 0 if the hessian is 0 or below min_child_weight.
  double Weight(double gradient, double hessian) const;
  // The loss it takes away, doubled.
  double Gain(double gradient, double hessian) const;
  bool MayBeChild(double hessian) const { return hessian >= min_child_weight_; }

 private:
  double Threshold(double gradient) const {
    if (gradient > alpha_) return gradient - alpha_;
    if (gradient < -alpha_) return gradient + alpha_;
    return 0;
  }

  double lambda_, alpha_, min_child_weight_, max_delta_step_;
};

// A way to cut a node in two: value bins <= last_left go left (last_left = -1: none, so missing values
// against all others), missing values where missing_left says. A feature of -1 is no split.
struct Split {
  float gain = 0;
  int feature = -1;
  int last_left = -1;
  bool missing_left = false;
  GradientSum left, right;
};

// 2^-exponent of the gradients and of the hessians.
struct GradientScale {
  double gradient = 1, hessian = 1;
};

// Replaces *best by the feature's best split if that gains more; ties keep the earlier one, so a caller that
// goes through features in ascending order gets XGBoost's choice. bins: the feature's sums, total: the
// node's.
void ConsiderFeature(const GainRule& rule, const GradientScale& scale, int feature, const FeatureSlot& at,
                     const GradientSum* bins, const GradientSum& total, double node_gain, Split* best);

}  // namespace winnow
