#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/types.h"

namespace winnow {

// Lays configurations on the unit cube: one coordinate per parameter, in their order.
// REQUIRES every range is valid (scheduler/validate.h).
class SearchSpace {
 public:
  explicit SearchSpace(std::vector<Parameter> parameters, std::vector<LinearConstraint> constraints = {});

  const std::vector<Parameter>& parameters() const { return parameters_; }

  // Coordinates outside [0, 1] count as its nearest end. A value is always inside its range, both ends
  // included. Integers, discrete values and categories have cells: of equal width, but under log scaling, where
  // integer k covers log(k - 1/2)..log(k + 1/2). Parameters whose condition does not hold are Inactive. Constraints
  // may be broken.
  Configuration FromUnit(const std::vector<double>& unit) const;

  // The inverse: for integers, discrete values and categories the middle of the value's cell; 0.5 where min = max and
  // for Inactive. REQUIRES the values have the kinds of their ranges and lie inside them.
  std::vector<double> ToUnit(const Configuration& configuration) const;

  // Whether parameter `index` is active, given the values before it.
  bool IsActive(size_t index, const Configuration& configuration) const;

  // Whether all constraints hold.
  bool Satisfies(const Configuration& configuration) const;

  // Whether it is a point of the space: values of the right kind inside their ranges, Inactive exactly where
  // conditions say so, constraints held.
  bool Holds(const Configuration& configuration) const;

  // How many configurations there are; 0: more than kMostEnumerated, or any number.
  int64_t size() const { return size_; }
  static constexpr int64_t kMostEnumerated = 1 << 20;
  // Configuration 0 <= index < size().
  Configuration Nth(int64_t index) const;

 private:
  Configuration FromCode(uint64_t code) const;
  void Enumerate();

  std::vector<Parameter> parameters_;
  std::vector<LinearConstraint> constraints_;
  int64_t size_ = 0;
  // Mixed-radix codes of the configurations; null: every code is one.
  std::shared_ptr<const std::vector<uint32_t>> codes_;
};

// How many values the range has; 0: any number, or more than SearchSpace::kMostEnumerated.
int64_t ValueCount(const Range& range);
// Value 0 <= index < ValueCount(range), rising.
Value NthValue(const Range& range, int64_t index);

// Whether the value has the range's kind and lies inside it.
bool Contains(const Range& range, const Value& value);

// Shortest text that reads back as the same value: "0.1", "1e-05", "12", "gbtree"; "" for Inactive.
std::string ValueToString(const Value& value);
std::string DoubleToString(double value);

}  // namespace winnow
