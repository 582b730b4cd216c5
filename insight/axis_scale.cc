#include "insight/axis_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/space/space.h"

namespace winnow {
namespace {

constexpr double kUnplaced = std::numeric_limits<double>::quiet_NaN();
// The most marks that fit beside an axis without touching.
constexpr size_t kMostTicks = 12;
constexpr double kLinearSteps = 5;

// Returns 1, 2 or 5 times a power of ten, so that `span` has about kLinearSteps of it.
double RoundStep(double span) {
  const double power = std::pow(10, std::floor(std::log10(span / kLinearSteps)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (span / (digit * power) <= kLinearSteps + 1) return digit * power;
  }
  return 10 * power;
}

// Formats a computed number without its last digits.
std::string TickText(double number) {
  if (number == 0) return "0";
  const double scale = std::pow(10, 11 - std::floor(std::log10(std::abs(number))));
  const double rounded = std::isfinite(scale) ? std::round(number * scale) / scale : number;
  return DoubleToString(std::isfinite(rounded) ? rounded : number);
}

}  // namespace

AxisScale::AxisScale(const Parameter& parameter) : name_(parameter.name) {
  if (const auto* integer = std::get_if<IntegerRange>(&parameter.range)) {
    kind_ = Kind::kInteger;
    scaling_ = integer->scaling;
    min_ = static_cast<double>(integer->min);
    max_ = static_cast<double>(integer->max);
  } else if (const auto* continuous = std::get_if<ContinuousRange>(&parameter.range)) {
    kind_ = Kind::kContinuous;
    scaling_ = continuous->scaling;
    min_ = continuous->min;
    max_ = continuous->max;
  } else if (const auto* discrete = std::get_if<DiscreteRange>(&parameter.range)) {
    kind_ = Kind::kDiscrete;
    numbers_ = discrete->values;
    for (const double number : numbers_) values_.push_back(DoubleToString(number));
    min_ = numbers_.front();
    max_ = numbers_.back();
  } else {
    kind_ = Kind::kCategorical;
    values_ = std::get<CategoricalRange>(parameter.range).values;
    max_ = static_cast<double>(values_.size()) - 1;
  }
}

AxisScale::AxisScale(std::string name, double min, double max)
    : name_(std::move(name)), min_(min), max_(max) {}

const char* AxisScale::kind() const {
  static constexpr const char* kNames[] = {"integer", "continuous", "categorical", "discrete", "objective"};
  return kNames[static_cast<int>(kind_)];
}

const char* AxisScale::scaling() const {
  static constexpr const char* kNames[] = {"linear", "log", "reverse_log"};
  return kNames[static_cast<int>(scaling_)];
}

double AxisScale::NumberOf(const Value& value) const {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return kUnplaced;
  const auto found = std::find(values_.begin(), values_.end(), *text);
  return found == values_.end() ? kUnplaced : static_cast<double>(found - values_.begin());
}

double AxisScale::ToScale(double number) const {
  const bool integer = kind_ == Kind::kInteger;
  switch (scaling_) {
    case Scaling::kLog:
      return std::log(number);
    case Scaling::kReverseLog:
      return integer ? -std::log(max_ - number + 1) : -std::log1p(-number);
    default:
      return number / 2;  // halved so that the widest span is finite
  }
}

double AxisScale::PositionOf(double number) const {
  if (std::isnan(number)) return kUnplaced;
  if (kind_ == Kind::kCategorical || kind_ == Kind::kDiscrete) {
    const double index =
        kind_ == Kind::kCategorical
            ? number
            : static_cast<double>(std::lower_bound(numbers_.begin(), numbers_.end(), number) -
                                  numbers_.begin());
    const auto count = static_cast<double>(values_.size());
    return (std::clamp(index, 0.0, count - 1) + 0.5) / count;
  }
  if (!(min_ < max_)) return 0.5;
  const double low = ToScale(min_), high = ToScale(max_);
  return std::clamp((ToScale(std::clamp(number, min_, max_)) - low) / (high - low), 0.0, 1.0);
}

double AxisScale::UnitOf(double number) const {
  if (kind_ != Kind::kInteger || std::isnan(number)) return PositionOf(number);
  if (!(min_ < max_)) return 0.5;
  const double cells = max_ - min_ + 1;
  const auto log_cell = [&](double least, double cell) {
    const double low = std::log(least - 0.5), high = std::log(least + cells - 0.5);
    return low < high ? std::clamp((std::log(least + cell) - low) / (high - low), 0.0, 1.0) : 0.5;
  };
  if (scaling_ == Scaling::kLog) return log_cell(min_, number - min_);
  if (scaling_ == Scaling::kReverseLog) return 1 - log_cell(1, max_ - number);
  return (number - min_ + 0.5) / cells;
}

std::vector<double> AxisScale::RoundNumbers() const {
  std::vector<double> numbers;
  if (scaling_ == Scaling::kLinear) {
    const double step = std::max(RoundStep(max_ - min_), kind_ == Kind::kInteger ? 1.0 : 0.0);
    if (!std::isfinite(step) || !(step > 0)) return {min_, max_};
    for (double k = std::ceil(min_ / step); k * step <= max_ && numbers.size() <= kMostTicks; ++k) {
      numbers.push_back(k * step);
    }
    return numbers;
  }
  // Powers of ten of the argument of the logarithm; if these are few, also twice and five times them.
  const bool reverse = scaling_ == Scaling::kReverseLog;
  const double edge =
      kind_ == Kind::kInteger ? max_ + 1 : 1;  // the point from which a reverse scale measures distance
  const double least = reverse ? edge - max_ : min_, most = reverse ? edge - min_ : max_;
  const double decades = std::log10(most / least);
  const double stride = std::max(1.0, std::ceil(decades / static_cast<double>(kMostTicks)));
  for (double e = std::floor(std::log10(least)); e <= std::log10(most); e += stride) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit > 1 && decades > 3) continue;
      const double at = digit * std::pow(10, e);
      if (at >= least && at <= most) numbers.push_back(reverse ? edge - at : at);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<std::pair<double, std::string>> AxisScale::Ticks() const {
  std::vector<std::pair<double, std::string>> ticks;
  if (!values_.empty()) {
    const size_t stride = (values_.size() + kMostTicks - 1) / kMostTicks;
    for (size_t i = 0; i < values_.size(); i += stride) {
      ticks.emplace_back((static_cast<double>(i) + 0.5) / static_cast<double>(values_.size()), values_[i]);
    }
    return ticks;
  }
  if (!(min_ < max_)) return {{0.5, TickText(min_)}};
  for (const double number : RoundNumbers()) ticks.emplace_back(PositionOf(number), TickText(number));
  // An axis with less than two numbers is useless.
  if (ticks.size() < 2) return {{0, TickText(min_)}, {1, TickText(max_)}};
  return ticks;
}

}  // namespace winnow
