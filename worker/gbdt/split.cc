#include "worker/gbdt/split.h"

#include <cmath>

namespace winnow {
namespace {

// What the scans of one feature share.
struct Scan {
  const GainRule& rule;
  const GradientScale& scale;
  const GradientSum& total;
  double node_gain;
  int feature;
  Split* best;

  void Try(const GradientSum& left, const GradientSum& right, int last_left, bool missing_left) const {
    const double left_hessian = static_cast<double>(left.hessian) * scale.hessian;
    const double right_hessian = static_cast<double>(right.hessian) * scale.hessian;
    if (!rule.MayBeChild(left_hessian) || !rule.MayBeChild(right_hessian)) return;
    const double gain = rule.Gain(static_cast<double>(left.gradient) * scale.gradient, left_hessian) +
                        rule.Gain(static_cast<double>(right.gradient) * scale.gradient, right_hessian) -
                        node_gain;
    if (!(static_cast<float>(gain) > best->gain)) return;
    *best = {static_cast<float>(gain), feature, last_left, missing_left, left, right};
  }
};

}  // namespace

double GainRule::Weight(double gradient, double hessian) const {
  if (hessian < min_child_weight_ || hessian <= 0) return 0;
  const double weight = -Threshold(gradient) / (hessian + lambda_);
  if (max_delta_step_ != 0 && std::fabs(weight) > max_delta_step_)
    return std::copysign(max_delta_step_, weight);
  return weight;
}

double GainRule::Gain(double gradient, double hessian) const {
  if (hessian <= 0) return 0;
  const double shrunk = Threshold(gradient);
  if (max_delta_step_ == 0) return shrunk * shrunk / (hessian + lambda_);
  const double weight = Weight(gradient, hessian);
  return -(2.0 * gradient * weight + (hessian + lambda_) * weight * weight);
}

void ConsiderFeature(const GainRule& rule, const GradientScale& scale, int feature, const FeatureSlot& at,
                     const GradientSum* bins, const GradientSum& total, double node_gain, Split* best) {
  const Scan scan{rule, scale, total, node_gain, feature, best};
  const GradientSum nothing;
  GradientSum left;
  for (int bin = 0; bin + 1 < at.values; ++bin) {  // missing values go right
    if (bins[bin] == nothing) continue;
    left += bins[bin];
    scan.Try(left, total - left, bin, false);
  }
  if (!at.has_missing || bins[at.values] == nothing) return;
  scan.Try(bins[at.values], total - bins[at.values], -1, true);
  GradientSum right;
  for (int bin = at.values - 1; bin > 0; --bin) {  // missing values go left
    if (bins[bin] == nothing) continue;
    right += bins[bin];
    scan.Try(total - right, right, bin - 1, true);
  }
}

}  // namespace winnow
