#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// Where a hyperparameter's values lie on an axis of length 1, as a picture has it: a number's range begins at
// 0 and ends at 1 on its scale, value i of n categories or discrete values is at (i + 0.5) / n.
class AxisScale {
 public:
  explicit AxisScale(const Parameter& parameter);
  // Of an objective: linear from `min` to `max`.
  AxisScale(std::string name, double min, double max);

  // The value as one number: itself, or the place of a category among the range's; NaN: it is none of the
  // range's kind.
  double NumberOf(const Value& value) const;
  // 0 to 1, numbers beyond the ends at these; NaN for NaN. In the middle if the range is one value.
  double PositionOf(double number) const;

  // Where it lies in the search space's unit cube (SearchSpace::ToUnit): integers have cells, of which this
  // is the middle.
  double UnitOf(double number) const;

  const std::string& name() const { return name_; }
  const char* kind() const;     // integer, continuous, categorical, discrete, objective
  const char* scaling() const;  // linear, log, reverse_log
  double min() const { return min_; }
  double max() const { return max_; }
  const std::vector<std::string>& values() const { return values_; }  // of categories and discrete values
  const std::vector<double>& numbers() const { return numbers_; }     // of discrete values
  bool integer() const { return kind_ == Kind::kInteger; }
  bool categorical() const { return kind_ == Kind::kCategorical; }
  bool discrete() const { return kind_ == Kind::kDiscrete; }

  // Marks to be written at the axis, rising: round numbers, or the values themselves, some of them if there
  // are many.
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
