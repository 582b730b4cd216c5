#include "scheduler/space.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

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

Value At(const IntegerRange& range, double u) {
  if (range.scaling == Scaling::kLog) {
    const double low = std::log(static_cast<double>(range.min) - 0.5);
    const double high = std::log(static_cast<double>(range.max) + 0.5);
    const double value = std::round(std::exp(std::lerp(low, high, u)));
    // Compared before the cast: a double beyond the range may not fit an int64.
    if (value >= static_cast<double>(range.max)) return range.max;
    return std::max(range.min, static_cast<int64_t>(value));
  }
  if (u >= 1) return range.max;
  const auto steps = static_cast<uint64_t>(u * 0x1p53);
  const auto cell = static_cast<uint64_t>((static_cast<Wide>(steps) * Cells(range)) >> 53);
  return static_cast<int64_t>(static_cast<uint64_t>(range.min) + cell);
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

double Unit(const IntegerRange& range, const Value& value) {
  const int64_t integer = std::get<int64_t>(value);
  if (range.scaling == Scaling::kLog) {
    if (range.min == range.max) return 0.5;
    const double low = std::log(static_cast<double>(range.min) - 0.5);
    const double high = std::log(static_cast<double>(range.max) + 0.5);
    return std::clamp((std::log(static_cast<double>(integer)) - low) / (high - low), 0.0, 1.0);
  }
  const uint64_t cell = static_cast<uint64_t>(integer) - static_cast<uint64_t>(range.min);
  return (static_cast<double>(cell) + 0.5) / static_cast<double>(Cells(range));
}

double Unit(const ContinuousRange& range, const Value& value) {
  if (range.min == range.max) return 0.5;
  // Halved, so that the width of the widest linear range is finite.
  const double low = ToScale(range.min, range.scaling) / 2;
  const double high = ToScale(range.max, range.scaling) / 2;
  const double at = ToScale(std::get<double>(value), range.scaling) / 2;
  return std::clamp((at - low) / (high - low), 0.0, 1.0);
}

double Unit(const CategoricalRange& range, const Value& value) {
  const auto& text = std::get<std::string>(value);
  const auto index = std::find(range.values.begin(), range.values.end(), text) - range.values.begin();
  return (static_cast<double>(index) + 0.5) / static_cast<double>(range.values.size());
}

}  // namespace

Configuration SearchSpace::FromUnit(const std::vector<double>& unit) const {
  Configuration configuration;
  configuration.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
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
    unit.push_back(
        std::visit([&value](const auto& range) { return Unit(range, value); }, parameters_[i].range));
  }
  return unit;
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
  return std::get<std::string>(value);
}

}  // namespace winnow
