#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/samplers/unit_points.h"
#include "scheduler/space/space.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// A prior (Parameter::prior) as a density on the parameter's unit interval. Numbers and ordered categories: a
// normal density about the value, truncated to [0, 1], whose deviation is 0.5, 0.25 or 0.125 at confidence
// LOW, MEDIUM or HIGH. Unordered categories: the value is 2, 4 or 8 times as likely as each other one.
class PriorDensity {
 public:
  // `middle`: the value's place on the unit interval, or an unordered category's index; then `categories` >
  // 0.
  PriorDensity(Confidence confidence, double middle, int categories);

  // Beside the uniform density.
  double At(double at) const { return peak_ * Shape(at); }
  // Beside the density's own peak: 1 at the value.
  double Shape(double at) const;
  // The derivative of Shape; 0 of categories.
  double Slope(double at) const;
  // Turns a uniform number in [0, 1) into a draw.
  double Quantile(double u) const;

 private:
  double middle_;
  int categories_;
  double deviation_ = 0;  // of a number
  double others_ = 0;     // Shape of another category
  double peak_;
};

// The priors of a space's parameters. Coordinates are those of UnitPoints.
class Priors {
 public:
  explicit Priors(const SearchSpace& space);

  bool empty() const { return empty_; }
  // By parameter; absent: it has none.
  const std::vector<std::optional<PriorDensity>>& densities() const { return densities_; }

  // The values of all priors, and the middle of other ranges. Constraints may be broken.
  Configuration Values() const;
  // Moves a point of the unit cube as the quantiles of the priors say, so that uniform points become draws
  // from them.
  Configuration Drawn(std::vector<double> unit) const;

 private:
  const SearchSpace& space_;
  const UnitPoints points_;
  std::vector<double> values_;  // on the unit cube
  std::vector<std::optional<PriorDensity>> densities_;
  bool empty_ = true;
};

bool HasPriors(const SearchSpec& spec);

// Whether the draw of trial `number` that asks no search model is one from the priors: half of the first
// four draws are, and of later ones fewer and fewer, 2 / number. So wrong priors do not cost much for long.
bool DrawsFromPriors(const SearchSpec& spec, TrialNumber number);

// What priors add to the logarithm of a search model's preference for a point, after piBO (Hvarfner et al.,
// ICLR 2022): it falls as 10 / n with the number n of trials. Unlike piBO's, it is bounded, and each
// parameter's part shrinks to nothing where the best third of the results, at most 20, lies where the prior
// is no denser than a uniform density: a result there counts r = density / (density + 1), and the part is 2
// mean(r) - 1, with two results of r = 1 to begin with. `point_of(i)`: the point of result i, the best first.
class PriorWeights {
 public:
  PriorWeights(const JobState& state, const UnitPoints& points, int64_t results,
               const std::function<Eigen::VectorXd(size_t)>& point_of);

  // What is left of the priors' first weight, the mean over those parameters that have one: 0 to 1.
  double strength() const { return strength_; }

  // At most 0, which it is at the priors' values.
  double Log(const Eigen::VectorXd& point) const;
  // Adds the derivative of Log.
  void AddSlope(const Eigen::VectorXd& point, Eigen::VectorXd& gradient) const;
  // A draw of parameter j, all coordinates active, from a uniform number in [0, 1).
  double Draw(Eigen::Index j, double u) const;

  // ", the job's priors at 35 % of their first weight"; "" where they have none left.
  std::string Text() const;

 private:
  const Priors priors_;
  const UnitPoints& points_;
  std::vector<double> weights_;  // by parameter
  double strength_ = 0;
};

}  // namespace winnow
