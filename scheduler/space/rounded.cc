#include "scheduler/space/rounded.h"

#include <array>
#include <charconv>
#include <cmath>

#include "scheduler/space/space.h"

namespace winnow {
namespace {

constexpr int kFew = 3, kMany = 6;
// So many tell any two numbers apart.
constexpr int kAll = 17;
// From here on an exponent is shorter than the digits.
constexpr double kLarge = 1e9;

std::string WithDigits(double value, int digits) {
  const double size = std::abs(value);
  if (size >= std::pow(10.0, digits - 1) && size < kLarge) {
    const double unit = std::pow(10.0, std::floor(std::log10(size)) - (digits - 1));
    return DoubleToString(std::round(value / unit) * unit);
  }
  std::array<char, 32> buffer;
  const auto end = buffer.data() + buffer.size();
  return {buffer.data(), std::to_chars(buffer.data(), end, value, std::chars_format::general, digits).ptr};
}

}  // namespace

std::string ThreeDigits(double value) { return WithDigits(value, kFew); }

std::string SixDigits(double value) { return WithDigits(value, kMany); }

std::string SixDigits(double value, double other) {
  int digits = kMany;
  while (digits < kAll && value != other && WithDigits(value, digits) == WithDigits(other, digits)) ++digits;
  return digits == kAll ? DoubleToString(value) : WithDigits(value, digits);
}

std::string Percent(double part, int decimals) {
  const double scale = std::pow(10.0, decimals);
  const double rounded = std::round(part * 100 * scale) / scale;
  if (rounded == 0) return "less than " + DoubleToString(0.5 / scale) + " %";
  if (rounded == 100 && part < 1) return "more than " + DoubleToString(100 - 0.5 / scale) + " %";
  return DoubleToString(rounded) + " %";
}

}  // namespace winnow
