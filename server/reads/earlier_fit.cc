#include "server/reads/earlier_fit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace winnow {
namespace {

constexpr double kMostExact = 9007199254740992;  // 2^53: integers up to there are exact as doubles

template <typename T>
std::optional<T> Parse(const std::string& text) {
  T value{};
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || last != end || begin == end) return std::nullopt;
  return value;
}

std::optional<double> ToReal(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    if (std::abs(static_cast<double>(*integer)) > kMostExact) return std::nullopt;
    return static_cast<double>(*integer);
  }
  if (const auto* text = std::get_if<std::string>(&value)) return Parse<double>(*text);
  return std::nullopt;
}

std::optional<int64_t> ToInteger(const Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (auto integer = Parse<int64_t>(*text)) return integer;
  }
  const std::optional<double> real = ToReal(value);
  if (!real || !(std::abs(*real) <= kMostExact) || *real != std::floor(*real)) return std::nullopt;
  return static_cast<int64_t>(*real);
}

// Returns the category with the value's text, in JSON's or Python's spelling of booleans and None, or with
// the same number: tables have 16.0 where a column lacks a value somewhere.
std::optional<std::string> ToCategory(const std::vector<std::string>& categories, const Value& value) {
  static constexpr std::pair<const char*, const char*> kSpellings[] = {
      {"true", "True"}, {"false", "False"}, {"null", "None"}};
  const auto known = [&](const std::string& text) {
    return std::find(categories.begin(), categories.end(), text) != categories.end();
  };
  const std::string text = ValueToString(value);
  if (known(text)) return text;
  for (const auto& [json, python] : kSpellings) {
    if (text == json && known(python)) return python;
    if (text == python && known(json)) return json;
  }
  const std::optional<double> number = ToReal(value);
  for (const std::string& category : categories) {
    if (number && Parse<double>(category) == number) return category;
  }
  return std::nullopt;
}

// Sums of steps differ from the numbers that they stand for: 0.1 + 2 * 0.1 is not 0.3.
bool IsNearly(double value, double own, double largest) {
  constexpr double kRelative = 1e-9, kOfLargest = 1e-12;
  return std::abs(value - own) <= std::max(kRelative * std::abs(own), kOfLargest * largest);
}

// The value of the range that this one stands for, else the value itself.
double Snapped(const Range& range, double value) {
  if (const auto* discrete = std::get_if<DiscreteRange>(&range)) {
    if (Contains(range, value)) return value;
    double largest = 0;
    for (const double own : discrete->values) largest = std::max(largest, std::abs(own));
    for (const double own : discrete->values) {
      if (IsNearly(value, own, largest)) return own;
    }
  } else if (const auto* real = std::get_if<ContinuousRange>(&range)) {
    const double largest = std::max(std::abs(real->min), std::abs(real->max));
    for (const double end : {real->min, real->max}) {
      if (!Contains(range, value) && IsNearly(value, end, largest)) return end;
    }
  }
  return value;
}

// Absent: the range has no such value.
std::optional<Value> Convert(const Range& range, const Value& value) {
  std::optional<Value> converted;
  if (const auto* categories = std::get_if<CategoricalRange>(&range)) {
    if (auto text = ToCategory(categories->values, value)) converted = *text;
  } else if (std::holds_alternative<IntegerRange>(range)) {
    if (auto integer = ToInteger(value)) converted = *integer;
  } else {
    if (auto real = ToReal(value)) converted = Snapped(range, *real);
  }
  if (converted && !Contains(range, *converted)) return std::nullopt;
  return converted;
}

}  // namespace

Fit FitTo(const SearchSpace& space, const std::map<std::string, Value>& values) {
  Fit fit;
  const std::vector<Parameter>& parameters = space.parameters();
  fit.configuration.assign(parameters.size(), Inactive{});
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!space.IsActive(i, fit.configuration)) continue;
    const auto given = values.find(parameters[i].name);
    if (given == values.end() || std::holds_alternative<Inactive>(given->second)) {
      fit.misfit = "without " + parameters[i].name;
      return fit;
    }
    std::optional<Value> value = Convert(parameters[i].range, given->second);
    if (!value) {
      fit.misfit = "with " + parameters[i].name + " outside its range";
      return fit;
    }
    fit.configuration[i] = *std::move(value);
  }
  if (!space.Holds(fit.configuration)) fit.misfit = "that violate a constraint";
  return fit;
}

}  // namespace winnow
