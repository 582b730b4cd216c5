#include "server/reads/earlier_fit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
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

// Returns the category with the value's text, including Python's spelling of booleans and None.
std::optional<std::string> ToCategory(const std::vector<std::string>& categories, const Value& value) {
  static const std::map<std::string, std::string> kPython = {
      {"true", "True"}, {"false", "False"}, {"null", "None"}};
  const auto known = [&](const std::string& text) {
    return std::find(categories.begin(), categories.end(), text) != categories.end();
  };
  const std::string text = ValueToString(value);
  if (known(text)) return text;
  const auto python = kPython.find(text);
  if (python != kPython.end() && known(python->second)) return python->second;
  return std::nullopt;
}

// Absent: the range has no such value.
std::optional<Value> Convert(const Range& range, const Value& value) {
  std::optional<Value> converted;
  if (const auto* categories = std::get_if<CategoricalRange>(&range)) {
    if (auto text = ToCategory(categories->values, value)) converted = *text;
  } else if (std::holds_alternative<IntegerRange>(range)) {
    if (auto integer = ToInteger(value)) converted = *integer;
  } else {
    if (auto real = ToReal(value)) converted = *real;
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
