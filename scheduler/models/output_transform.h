#pragma once

#include <limits>
#include <vector>

namespace winnow {

// How an OutputTransform chooses its power: by the values, or always 1.
enum class TransformPower { kFitted, kOne };

// A rising function of values, more is better, after which a normal distribution of mean 0 and spread 1 is a
// fair guess of them: the power transform of Yeo and Johnson (Biometrika 87, 2000) around the median, with
// the power of highest posterior density. Its unit is the mean distance of the better half from the median,
// and its powers (from 1 up) never draw good values nearer to each other: if most values lie on a plateau,
// its width is no scale for the few that are better. What is far below the median is drawn nearer by a
// logarithm, so that one failed experiment does not set the scale of all, and so is what is below
// `worthless`. With the power 1 all other differences keep their proportions.
class OutputTransform {
 public:
  // REQUIRES at least one value, all finite. Equal ones are all laid on 0.
  explicit OutputTransform(const std::vector<double>& values, TransformPower power = TransformPower::kFitted,
                           double worthless = -std::numeric_limits<double>::infinity());

  double operator()(double value) const { return (Bend(value) - mean_) / spread_; }
  // The value that is laid there; not further beyond the values that were given than eight units.
  double Inverse(double transformed) const;

 private:
  double Bend(double value) const;
  double DrawNearer(double a) const;
  double DrawAway(double a) const;

  double centre_ = 0, unit_ = 1;
  double bad_ = 0;               // in units; what is below is drawn nearer
  double least_ = 0, most_ = 0;  // of what Inverse gives
  double power_ = 1;
  double mean_ = 0, spread_ = 1;
};

}  // namespace winnow
