#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// Maps a hyperparameter's values to a drawn axis of length 1: a numeric range maps to 0 … 1 on its scale;
// value i of n categories or discrete values maps to (i + 0.5) / n.
class AxisScale {
 public:
  explicit AxisScale(const Parameter& parameter);
  // The axis of an objective: linear from `min` to `max`.
  AxisScale(std::string name, double min, double max);

  // Returns the value as one number: itself, or the index of a category in the range; NaN: not of the range's
  // kind.
  double NumberOf(const Value& value) const;
  // Returns a position in [0, 1]; numbers outside the range map to its ends, NaN to NaN. 0.5 for a single
  // value.
  double PositionOf(double number) const;

  // Returns the position in the search space's unit cube (SearchSpace::ToUnit): integers have cells, of which
  // this is the middle.
  double UnitOf(double number) const;

  const std::string& name() const { return name_; }
  const char* kind() const;     // integer, continuous, categorical, discrete, objective
  const char* scaling() const;  // linear, log, reverse_log
  double min() const { return min_; }
  double max() const { return max_; }
  const std::vector<std::string>& values() const { return values_; }  // for categories and discrete values
  const std::vector<double>& numbers() const { return numbers_; }     // for discrete values
  bool integer() const { return kind_ == Kind::kInteger; }
  bool categorical() const { return kind_ == Kind::kCategorical; }
  bool discrete() const { return kind_ == Kind::kDiscrete; }

  // Returns the labelled marks of the axis, rising: round numbers, or the values themselves, a selection if
  // there are many.
  std::vector<std::pair<double, std::string>> Ticks() const;

 private:
  enum class Kind { kInteger, kContinuous, kCategorical, kDiscrete, kObjective };
  double ToScale(double number) const;
  std::vector<double> RoundNumbers() const;

  std::string name_;
  Kind kind_ = Kind::kObjective;
  Scaling scaling_ = Scaling::kLinear;
  double min_ = 0;
  double max_ = 0;
  std::vector<std::string> values_;
  std::vector<double> numbers_;
};

}  // namespace winnow
