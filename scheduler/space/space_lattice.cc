#include "scheduler/space/space_lattice.h"

#include <algorithm>
#include <limits>
#include <string>

#include "scheduler/space/linear_sum.h"
#include "scheduler/space/space.h"

namespace winnow {
namespace {

// Parameters' digits that are tried while configurations are looked for: 16 times as many as may be found,
// about 0.1 s.
constexpr int64_t kMostSteps = 16 * Lattice::kMost;
constexpr uint64_t kMostCode = std::numeric_limits<uint64_t>::max();

double Number(const Value& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

}  // namespace

int64_t Axis::count() const {
  return chosen.empty() ? ValueCount(range) : static_cast<int64_t>(chosen.size());
}

Value Axis::at(int64_t index) const { return chosen.empty() ? NthValue(range, index) : chosen[index]; }

int64_t Axis::IndexOf(const Value& value) const {
  if (!chosen.empty()) {
    const auto found = std::find(chosen.begin(), chosen.end(), value);
    return found == chosen.end() ? -1 : found - chosen.begin();
  }
  if (!Contains(range, value)) return -1;
  if (const auto* integer = std::get_if<IntegerRange>(&range)) return std::get<int64_t>(value) - integer->min;
  for (int64_t i = 0, n = count(); i < n; ++i) {
    if (NthValue(range, i) == value) return i;
  }
  return -1;
}

// Visits the combinations in order, depth first.
struct Lattice::Enumerator {
  Lattice& lattice;
  const std::vector<LinearConstraint>& constraints;
  std::vector<std::vector<const LinearConstraint*>> complete_at;  // those whose last term is the parameter's
  std::vector<std::vector<double>> numbers;                       // of constrained parameters' values
  std::vector<bool> matters;  // others have one value, which nothing depends on
  Digits digits;
  int64_t steps = 0;

  Enumerator(Lattice& l, const std::vector<LinearConstraint>& c)
      : lattice(l), constraints(c), complete_at(l.nodes_.size()), numbers(l.nodes_.size()) {
    digits.assign(l.nodes_.size(), 0);
    for (const Node& node : l.nodes_) matters.push_back(node.count > 1);
    for (const Node& node : l.nodes_) {
      if (node.parent >= 0) matters[node.parent] = true;
    }
    for (const LinearConstraint& constraint : constraints) {
      int last = 0;
      for (const auto& [index, coefficient] : constraint.terms) {
        last = std::max(last, index);
        matters[index] = true;
        const Node& node = l.nodes_[index];
        if (!numbers[index].empty()) continue;
        for (int64_t k = 0; k < node.count; ++k) numbers[index].push_back(Number(node.axis.at(k)));
      }
      complete_at[last].push_back(&constraint);
    }
  }

  // As SearchSpace::Satisfies, to the bit.
  bool Satisfies(const LinearConstraint& constraint) const {
    LinearSum sum;
    for (const auto& [index, coefficient] : constraint.terms) {
      if (digits[index] == kOff) return true;
      sum.Add(coefficient * numbers[index][digits[index]]);
    }
    return sum.IsWithin(constraint);
  }
  bool Satisfies(size_t parameter) const {
    for (const LinearConstraint* constraint : complete_at[parameter]) {
      if (!Satisfies(*constraint)) return false;
    }
    return true;
  }

  // False: there are too many.
  bool Visit(size_t i, uint64_t code, uint64_t radix) {
    const std::vector<Node>& nodes = lattice.nodes_;
    for (; i < nodes.size(); ++i) {
      if (!matters[i]) continue;
      if (++steps > kMostSteps) return false;
      if (lattice.IsActive(nodes[i], digits)) break;
      digits[i] = kOff;
      if (!Satisfies(i)) return true;
    }
    if (i == nodes.size()) {
      lattice.codes_.push_back(code);
      return static_cast<int64_t>(lattice.codes_.size()) <= kMost;
    }
    const auto count = static_cast<uint64_t>(nodes[i].count);
    if (radix > kMostCode / count) return false;
    for (uint64_t digit = 0; digit < count; ++digit) {
      if (++steps > kMostSteps) return false;
      digits[i] = static_cast<int64_t>(digit);
      if (Satisfies(i) && !Visit(i + 1, code + digit * radix, radix * count)) return false;
    }
    return true;
  }
};

std::shared_ptr<const Lattice> Lattice::Make(const std::vector<Parameter>& parameters,
                                             const std::vector<LinearConstraint>& constraints,
                                             std::vector<Axis> axes) {
  const std::shared_ptr<Lattice> lattice(new Lattice());
  bool conditional = false;
  int64_t product = 1;  // kMost + 1: more
  for (size_t i = 0; i < axes.size(); ++i) {
    Node node{std::move(axes[i]), 0, -1, {}};
    node.count = node.axis.count();
    if (node.count == 0) return nullptr;
    product = product > kMost / node.count ? kMost + 1 : product * node.count;
    if (const auto& condition = parameters[i].condition) {
      conditional = true;
      node.parent = condition->parent;
      const Node& parent = lattice->nodes_[node.parent];
      node.parent_digits.assign(parent.count, false);
      for (const Value& value : condition->values) {
        if (const int64_t digit = parent.axis.IndexOf(value); digit >= 0) node.parent_digits[digit] = true;
      }
    }
    lattice->nodes_.push_back(std::move(node));
  }
  if (!conditional && constraints.empty()) {
    lattice->size_ = product;
    return product > kMost ? nullptr : lattice;
  }
  lattice->listed_ = true;
  if (!Enumerator(*lattice, constraints).Visit(0, 0, 1)) return nullptr;
  lattice->codes_.shrink_to_fit();
  lattice->size_ = static_cast<int64_t>(lattice->codes_.size());
  return lattice;
}

bool Lattice::IsActive(const Node& node, const Digits& digits) const {
  return node.parent < 0 || (digits[node.parent] != kOff && node.parent_digits[digits[node.parent]]);
}

Lattice::Digits Lattice::DigitsOf(int64_t index) const {
  Digits digits(nodes_.size(), kOff);
  if (!listed_) {
    for (size_t i = nodes_.size(); i-- > 0;) {
      digits[i] = index % nodes_[i].count;
      index /= nodes_[i].count;
    }
    return digits;
  }
  uint64_t code = codes_[index];
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!IsActive(nodes_[i], digits)) continue;
    const auto count = static_cast<uint64_t>(nodes_[i].count);
    digits[i] = static_cast<int64_t>(code % count);
    code /= count;
  }
  return digits;
}

Configuration Lattice::Nth(int64_t index) const {
  const Digits digits = DigitsOf(index);
  Configuration configuration;
  configuration.reserve(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    configuration.push_back(digits[i] == kOff ? Value(Inactive{}) : nodes_[i].axis.at(digits[i]));
  }
  return configuration;
}

int64_t Lattice::IndexOf(const Configuration& configuration) const {
  Digits digits(nodes_.size(), kOff);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (std::holds_alternative<Inactive>(configuration[i])) continue;
    digits[i] = nodes_[i].axis.IndexOf(configuration[i]);
    if (digits[i] < 0) return -1;
  }
  int64_t low = 0, high = size_;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (DigitsOf(middle) < digits) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < size_ && DigitsOf(low) == digits ? low : -1;
}

}  // namespace winnow
