#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// The values that one parameter takes, rising.
struct Axis {
  Range range;
  std::vector<Value> chosen;  // some of the range's; empty: all of them

  int64_t count() const;  // 0: more than can be enumerated
  Value at(int64_t index) const;
  int64_t IndexOf(const Value& value) const;  // -1: none of them
};

// All configurations whose values are taken from one axis per parameter, without those that constraints
// break. Those that differ only in parameters which conditions leave out are one. Numbered from 0, the last
// parameter's value changing first.
class Lattice {
 public:
  // Null: more than kMost configurations, or too many combinations to look through. REQUIRES one axis per
  // parameter.
  static std::shared_ptr<const Lattice> Make(const std::vector<Parameter>& parameters,
                                             const std::vector<LinearConstraint>& constraints,
                                             std::vector<Axis> axes);
  static constexpr int64_t kMost = 1 << 20;

  int64_t size() const { return size_; }
  Configuration Nth(int64_t index) const;
  // -1: it is none of them. O(log size).
  int64_t IndexOf(const Configuration& configuration) const;

 private:
  using Digits = std::vector<int64_t>;  // an index on each axis; kOff: inactive
  static constexpr int64_t kOff = -1;
  struct Node {
    Axis axis;
    int64_t count = 0;
    int parent = -1;                  // -1: always active
    std::vector<bool> parent_digits;  // where it is active
  };
  struct Enumerator;

  Lattice() = default;
  bool IsActive(const Node& node, const Digits& digits) const;
  Digits DigitsOf(int64_t index) const;

  std::vector<Node> nodes_;
  bool listed_ = false;
  // If listed: mixed-radix numbers of the configurations, in their order, the first active parameter's digit
  // the lowest. Otherwise every combination is one.
  std::vector<uint64_t> codes_;
  int64_t size_ = 0;
};

}  // namespace winnow
