#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scheduler/types.h"

namespace winnow {

// Lays configurations on the unit cube: one coordinate per parameter, in their order.
// REQUIRES every range is valid (scheduler/validate.h).
class SearchSpace {
 public:
  explicit SearchSpace(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}

  const std::vector<Parameter>& parameters() const { return parameters_; }

  // Coordinates outside [0, 1] count as its nearest end. A value is always inside its range, both ends
  // included. Integers and categories have cells: of equal width under linear scaling; under log scaling
  // integer k covers log(k - 1/2)..log(k + 1/2).
  Configuration FromUnit(const std::vector<double>& unit) const;

  // The inverse: for integers and categories the middle of the value's cell; 0.5 where min = max.
  // REQUIRES the values have the kinds of their ranges and lie inside them.
  std::vector<double> ToUnit(const Configuration& configuration) const;

 private:
  std::vector<Parameter> parameters_;
};

// Whether the value has the range's kind and lies inside it.
bool Contains(const Range& range, const Value& value);

// Shortest text that reads back as the same value: "0.1", "1e-05", "12", "gbtree".
std::string ValueToString(const Value& value);
std::string DoubleToString(double value);

}  // namespace winnow
