#include "scheduler/space/range_change.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "scheduler/space/space.h"

namespace winnow {
namespace {

// Absent: one is of another kind.
template <typename T>
std::optional<std::vector<T>> AllOf(const std::vector<Value>& values) {
  std::vector<T> all;
  for (const Value& value : values) {
    const auto* held = std::get_if<T>(&value);
    if (held == nullptr) return std::nullopt;
    all.push_back(*held);
  }
  return all;
}

bool FitsScaling(Scaling scaling, double min, double max) {
  if (scaling == Scaling::kLog) return min > 0;
  return scaling != Scaling::kReverseLog || (min >= 0 && max < 1);
}

template <typename T>
std::vector<Value> Wrapped(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<Value> ValuesOf(const Range& range) {
  if (const auto* integer = std::get_if<IntegerRange>(&range)) return {integer->min, integer->max};
  if (const auto* real = std::get_if<ContinuousRange>(&range)) return {real->min, real->max};
  if (const auto* discrete = std::get_if<DiscreteRange>(&range)) return Wrapped(discrete->values);
  return Wrapped(std::get<CategoricalRange>(range).values);
}

bool IsListed(const Range& range) {
  return std::holds_alternative<DiscreteRange>(range) || std::holds_alternative<CategoricalRange>(range);
}

std::optional<Range> WithValues(const Range& range, const std::vector<Value>& values) {
  if (values.empty() || (!IsListed(range) && values.size() != 2)) return std::nullopt;
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    const auto ends = AllOf<int64_t>(values);
    if (!ends || (*ends)[0] > (*ends)[1]) return std::nullopt;
    if (integer->scaling == Scaling::kLog && (*ends)[0] < 1) return std::nullopt;
    return IntegerRange{(*ends)[0], (*ends)[1], integer->scaling};
  }
  if (const auto* real = std::get_if<ContinuousRange>(&range)) {
    const auto ends = AllOf<double>(values);
    if (!ends || !std::isfinite((*ends)[0]) || !std::isfinite((*ends)[1]) || (*ends)[0] > (*ends)[1])
      return std::nullopt;
    if (!FitsScaling(real->scaling, (*ends)[0], (*ends)[1])) return std::nullopt;
    return ContinuousRange{(*ends)[0], (*ends)[1], real->scaling};
  }
  if (std::holds_alternative<DiscreteRange>(range)) {
    auto numbers = AllOf<double>(values);
    if (!numbers || !std::all_of(numbers->begin(), numbers->end(), [](double n) { return std::isfinite(n); }))
      return std::nullopt;
    if (std::adjacent_find(numbers->begin(), numbers->end(), std::greater_equal<>()) != numbers->end())
      return std::nullopt;
    return DiscreteRange{*std::move(numbers)};
  }
  auto texts = AllOf<std::string>(values);
  if (!texts || std::set<std::string>(texts->begin(), texts->end()).size() != texts->size())
    return std::nullopt;
  return CategoricalRange{*std::move(texts), std::get<CategoricalRange>(range).ordered};
}

Range Joined(const Range& range, const Range& wider) {
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    const auto& other = std::get<IntegerRange>(wider);
    return IntegerRange{std::min(integer->min, other.min), std::max(integer->max, other.max),
                        integer->scaling};
  }
  if (const auto* real = std::get_if<ContinuousRange>(&range)) {
    const auto& other = std::get<ContinuousRange>(wider);
    return ContinuousRange{std::min(real->min, other.min), std::max(real->max, other.max), real->scaling};
  }
  if (const auto* discrete = std::get_if<DiscreteRange>(&range)) {
    std::set<double> all(discrete->values.begin(), discrete->values.end());
    const auto& other = std::get<DiscreteRange>(wider);
    all.insert(other.values.begin(), other.values.end());
    return DiscreteRange{{all.begin(), all.end()}};
  }
  CategoricalRange joined = std::get<CategoricalRange>(range);
  for (const std::string& text : std::get<CategoricalRange>(wider).values) {
    if (std::find(joined.values.begin(), joined.values.end(), text) == joined.values.end())
      joined.values.push_back(text);
  }
  return joined;
}

Value NearestIn(const Range& range, const Value& value) {
  if (const auto* integer = std::get_if<IntegerRange>(&range))
    return std::clamp(std::get<int64_t>(value), integer->min, integer->max);
  const auto number = std::get<double>(value);
  if (const auto* real = std::get_if<ContinuousRange>(&range))
    return std::clamp(number, real->min, real->max);
  const auto& numbers = std::get<DiscreteRange>(range).values;
  return *std::min_element(numbers.begin(), numbers.end(), [number](double a, double b) {
    return std::abs(a - number) < std::abs(b - number);
  });
}

std::string RangeText(const std::vector<Value>& values, bool listed) {
  std::string text;
  for (const Value& value : values)
    text += (text.empty() ? "" : listed ? ", " : " to ") + ValueToString(value);
  return text;
}

}  // namespace winnow
