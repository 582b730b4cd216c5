#include "spec/values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/names.h"
#include "scheduler/space/space.h"

namespace winnow {
namespace {

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53: reals up to here hold every integer

template <typename T>
std::optional<T> ReadNumber(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Value> ReadInteger(const std::string& text) {
  if (const auto whole = ReadNumber<int64_t>(text)) return *whole;
  const auto real = ReadNumber<double>(text);
  if (!real || *real != std::floor(*real) || std::fabs(*real) > kExactIntegers) return std::nullopt;
  return static_cast<int64_t>(*real);
}

}  // namespace

v1::HyperparameterValue ToProto(const std::string& name, const Value& value) {
  v1::HyperparameterValue proto;
  proto.set_name(name);
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    proto.set_integer(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    proto.set_continuous(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    proto.set_categorical(*text);
  }
  return proto;
}

Value FromProto(const v1::HyperparameterValue& value) {
  switch (value.value_case()) {
    case v1::HyperparameterValue::kInteger:
      return value.integer();
    case v1::HyperparameterValue::kContinuous:
      return value.continuous();
    case v1::HyperparameterValue::kCategorical:
      return value.categorical();
    default:
      return Inactive{};
  }
}

std::optional<Value> ReadValue(const Range& range, const std::string& text) {
  if (std::holds_alternative<IntegerRange>(range)) return ReadInteger(text);
  if (std::holds_alternative<CategoricalRange>(range)) return Value(text);
  const auto real = ReadNumber<double>(text);
  if (!real || !std::isfinite(*real)) return std::nullopt;
  return Value(*real);
}

std::string ExpectedValue(const Range& range) {
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    return fmt::format("a whole number from {} to {}", integer->min, integer->max);
  }
  if (const auto* continuous = std::get_if<ContinuousRange>(&range)) {
    return "a number from " + DoubleToString(continuous->min) + " to " + DoubleToString(continuous->max);
  }
  std::vector<std::string> values;
  if (const auto* discrete = std::get_if<DiscreteRange>(&range)) {
    for (const double value : discrete->values) values.push_back(DoubleToString(value));
  } else {
    values = std::get<CategoricalRange>(range).values;
  }
  return "one of " + Joined(values);
}

}  // namespace winnow
