#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/space/space_lattice.h"
#include "scheduler/space/types.h"

namespace winnow {

// Lays configurations on the unit cube: one coordinate per parameter, in their order.
// REQUIRES every range is valid (scheduler/validate.h).
class SearchSpace {
 public:
  explicit SearchSpace(std::vector<Parameter> parameters, std::vector<LinearConstraint> constraints = {});

  const std::vector<Parameter>& parameters() const { return parameters_; }

  // Coordinates outside [0, 1] count as its nearest end. A value is always inside its range, both ends
  // included. Integers, discrete values and categories have cells: of equal width, but under log scaling,
  // where integer k covers log(k - 1/2)..log(k + 1/2), and under reverse-log scaling, its mirror image: max -
  // k + 1 does. Parameters whose condition does not hold are Inactive. Constraints may be broken.
  Configuration FromUnit(const std::vector<double>& unit) const;

  // The inverse: for integers, discrete values and categories the middle of the value's cell; 0.5 where min =
  // max and for Inactive. REQUIRES the values have the kinds of their ranges and lie inside them.
  std::vector<double> ToUnit(const Configuration& configuration) const;

  // Whether parameter `index` is active, given the values before it.
  bool IsActive(size_t index, const Configuration& configuration) const;

  // Whether the constraint holds.
  static bool Satisfies(const LinearConstraint& constraint, const Configuration& configuration);
  // Whether all constraints hold.
  bool Satisfies(const Configuration& configuration) const;

  // Whether it is a point of the space: values of the right kind inside their ranges, Inactive exactly where
  // conditions say so, constraints held.
  bool Holds(const Configuration& configuration) const;

  // How many configurations there are; 0: none, more than kMostEnumerated, or too many combinations of values
  // to look through for those that the constraints allow.
  int64_t size() const { return lattice_ ? lattice_->size() : 0; }
  static constexpr int64_t kMostEnumerated = Lattice::kMost;
  // Configuration 0 <= index < size(), the last parameter changing first.
  Configuration Nth(int64_t index) const { return lattice_->Nth(index); }

 private:
  std::vector<Parameter> parameters_;
  std::vector<LinearConstraint> constraints_;
  std::shared_ptr<const Lattice> lattice_;  // null: not enumerated
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
