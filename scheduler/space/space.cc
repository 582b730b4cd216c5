#include "scheduler/space/space.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "scheduler/space/linear_sum.h"

namespace winnow {
namespace {

__extension__ using Wide = unsigned __int128;

// How many integers a range holds: up to 2^64.
Wide Cells(const IntegerRange& range) {
  return static_cast<Wide>(static_cast<uint64_t>(range.max) - static_cast<uint64_t>(range.min)) + 1;
}

// The scale on which a range is uniform, and the way back; one pair per scaling.
double ToScale(double value, Scaling scaling) {
  switch (scaling) {
    case Scaling::kLog:
      return std::log(value);
    case Scaling::kReverseLog:
      return -std::log1p(-value);
    default:
      return value;
  }
}
double FromScale(double value, Scaling scaling) {
  switch (scaling) {
    case Scaling::kLog:
      return std::exp(value);
    case Scaling::kReverseLog:
      return -std::expm1(-value);
    default:
      return value;
  }
}

// Cells 0..last of the integers from `least` >= 1 on a logarithmic scale: integer k covers log(k -
// 1/2)..log(k + 1/2).
uint64_t LogCellAt(double least, uint64_t last, double u) {
  const double low = std::log(least - 0.5), high = std::log(least + static_cast<double>(last) + 0.5);
  if (!(low < high)) return std::min(last, static_cast<uint64_t>(u * static_cast<double>(last)));
  const double cell = std::round(std::exp(std::lerp(low, high, u))) - least;
  // Compared before the cast: a double beyond the range may not fit.
  if (cell >= static_cast<double>(last)) return last;
  return cell > 0 ? static_cast<uint64_t>(cell) : 0;
}
double LogCellMiddle(double least, uint64_t last, uint64_t cell) {
  const double low = std::log(least - 0.5), high = std::log(least + static_cast<double>(last) + 0.5);
  if (!(low < high)) return 0.5;  // few integers, too large to be told apart on this scale
  return std::clamp((std::log(least + static_cast<double>(cell)) - low) / (high - low), 0.0, 1.0);
}

Value At(const IntegerRange& range, double u) {
  const auto min = static_cast<uint64_t>(range.min), max = static_cast<uint64_t>(range.max);
  if (range.scaling == Scaling::kLog) {
    return static_cast<int64_t>(min + LogCellAt(static_cast<double>(range.min), max - min, u));
  }
  if (range.scaling == Scaling::kReverseLog) {
    return static_cast<int64_t>(max - LogCellAt(1, max - min, 1 - u));
  }
  if (u >= 1) return range.max;
  const auto steps = static_cast<uint64_t>(u * 0x1p53);
  const auto cell = static_cast<uint64_t>((static_cast<Wide>(steps) * Cells(range)) >> 53);
  return static_cast<int64_t>(min + cell);
}

Value At(const ContinuousRange& range, double u) {
  if (u <= 0) return range.min;
  if (u >= 1) return range.max;
  const double scaled = std::lerp(ToScale(range.min, range.scaling), ToScale(range.max, range.scaling), u);
  return std::clamp(FromScale(scaled, range.scaling), range.min, range.max);
}

Value At(const CategoricalRange& range, double u) {
  const size_t count = range.values.size();
  return range.values[std::min(count - 1, static_cast<size_t>(u * static_cast<double>(count)))];
}

Value At(const DiscreteRange& range, double u) {
  const size_t count = range.values.size();
  return range.values[std::min(count - 1, static_cast<size_t>(u * static_cast<double>(count)))];
}

double Unit(const IntegerRange& range, const Value& value) {
  if (range.min == range.max) return 0.5;
  const auto min = static_cast<uint64_t>(range.min), max = static_cast<uint64_t>(range.max);
  const auto integer = static_cast<uint64_t>(std::get<int64_t>(value));
  if (range.scaling == Scaling::kLog) {
    return LogCellMiddle(static_cast<double>(range.min), max - min, integer - min);
  }
  if (range.scaling == Scaling::kReverseLog) return 1 - LogCellMiddle(1, max - min, max - integer);
  return (static_cast<double>(integer - min) + 0.5) / static_cast<double>(Cells(range));
}

double Unit(const ContinuousRange& range, const Value& value) {
  if (range.min == range.max) return 0.5;
  // Halved, so that the width of the widest linear range is finite.
  const double low = ToScale(range.min, range.scaling) / 2;
  const double high = ToScale(range.max, range.scaling) / 2;
  const double at = ToScale(std::get<double>(value), range.scaling) / 2;
  return std::clamp((at - low) / (high - low), 0.0, 1.0);
}

double Unit(const DiscreteRange& range, const Value& value) {
  const auto index =
      std::find(range.values.begin(), range.values.end(), std::get<double>(value)) - range.values.begin();
  return (static_cast<double>(index) + 0.5) / static_cast<double>(range.values.size());
}

double Unit(const CategoricalRange& range, const Value& value) {
  const auto& text = std::get<std::string>(value);
  const auto index = std::find(range.values.begin(), range.values.end(), text) - range.values.begin();
  return (static_cast<double>(index) + 0.5) / static_cast<double>(range.values.size());
}

}  // namespace

SearchSpace::SearchSpace(std::vector<Parameter> parameters, std::vector<LinearConstraint> constraints)
    : parameters_(std::move(parameters)), constraints_(std::move(constraints)) {
  std::vector<Axis> axes;
  for (const Parameter& parameter : parameters_) {
    if (ValueCount(parameter.range) == 0) return;
    axes.push_back({parameter.range, {}});
  }
  lattice_ = Lattice::Make(parameters_, constraints_, std::move(axes));
}

bool SearchSpace::IsActive(size_t index, const Configuration& configuration) const {
  const auto& condition = parameters_[index].condition;
  if (!condition) return true;
  const Value& parent = configuration[condition->parent];
  return std::find(condition->values.begin(), condition->values.end(), parent) != condition->values.end();
}

Configuration SearchSpace::FromUnit(const std::vector<double>& unit) const {
  Configuration configuration;
  configuration.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!IsActive(i, configuration)) {
      configuration.emplace_back(Inactive{});
      continue;
    }
    const double u = unit[i] > 0 ? std::min(unit[i], 1.0) : 0.0;
    configuration.push_back(
        std::visit([u](const auto& range) { return At(range, u); }, parameters_[i].range));
  }
  return configuration;
}

std::vector<double> SearchSpace::ToUnit(const Configuration& configuration) const {
  std::vector<double> unit;
  unit.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Value& value = configuration[i];
    if (std::holds_alternative<Inactive>(value)) {
      unit.push_back(0.5);
      continue;
    }
    unit.push_back(
        std::visit([&value](const auto& range) { return Unit(range, value); }, parameters_[i].range));
  }
  return unit;
}

bool SearchSpace::Satisfies(const LinearConstraint& constraint, const Configuration& configuration) {
  LinearSum sum;
  for (const auto& [index, coefficient] : constraint.terms) {
    const Value& value = configuration[index];
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      sum.Add(coefficient * static_cast<double>(*integer));
    } else if (const auto* real = std::get_if<double>(&value)) {
      sum.Add(coefficient * *real);
    } else {
      return true;
    }
  }
  return sum.IsWithin(constraint);
}

bool SearchSpace::Satisfies(const Configuration& configuration) const {
  return std::all_of(
      constraints_.begin(), constraints_.end(),
      [&configuration](const LinearConstraint& constraint) { return Satisfies(constraint, configuration); });
}

bool SearchSpace::Holds(const Configuration& configuration) const {
  if (configuration.size() != parameters_.size()) return false;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const bool inactive = std::holds_alternative<Inactive>(configuration[i]);
    if (inactive == IsActive(i, configuration)) return false;
    if (!inactive && !Contains(parameters_[i].range, configuration[i])) return false;
  }
  return Satisfies(configuration);
}

int64_t ValueCount(const Range& range) {
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    const Wide cells = Cells(*integer);
    return cells > static_cast<Wide>(SearchSpace::kMostEnumerated) ? 0 : static_cast<int64_t>(cells);
  }
  if (const auto* real = std::get_if<ContinuousRange>(&range)) return real->min == real->max ? 1 : 0;
  if (const auto* discrete = std::get_if<DiscreteRange>(&range)) {
    return static_cast<int64_t>(discrete->values.size());
  }
  return static_cast<int64_t>(std::get<CategoricalRange>(range).values.size());
}

Value NthValue(const Range& range, int64_t index) {
  if (const auto* integer = std::get_if<IntegerRange>(&range)) return integer->min + index;
  if (const auto* real = std::get_if<ContinuousRange>(&range)) return real->min;
  if (const auto* discrete = std::get_if<DiscreteRange>(&range)) return discrete->values[index];
  return std::get<CategoricalRange>(range).values[index];
}

bool Contains(const Range& range, const Value& value) {
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    const auto* v = std::get_if<int64_t>(&value);
    return v != nullptr && integer->min <= *v && *v <= integer->max;
  }
  if (const auto* real = std::get_if<ContinuousRange>(&range)) {
    const auto* v = std::get_if<double>(&value);
    return v != nullptr && real->min <= *v && *v <= real->max;
  }
  if (const auto* discrete = std::get_if<DiscreteRange>(&range)) {
    const auto* v = std::get_if<double>(&value);
    return v != nullptr &&
           std::find(discrete->values.begin(), discrete->values.end(), *v) != discrete->values.end();
  }
  const auto& values = std::get<CategoricalRange>(range).values;
  const auto* v = std::get_if<std::string>(&value);
  return v != nullptr && std::find(values.begin(), values.end(), *v) != values.end();
}

std::string DoubleToString(double value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

std::string ValueToString(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return DoubleToString(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return "";
}

}  // namespace winnow
