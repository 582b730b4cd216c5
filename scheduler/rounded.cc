#include "scheduler/rounded.h"

#include <array>
#include <charconv>
#include <cmath>

#include "scheduler/space.h"

namespace winnow {
namespace {

constexpr int kDigits = 3;
// From here on an exponent is shorter than the digits.
constexpr double kLarge = 1e9;

}  // namespace

std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  if (size >= 100 && size < kLarge) {
    const double unit = std::pow(10.0, std::floor(std::log10(size)) - (kDigits - 1));
    return DoubleToString(std::round(value / unit) * unit);
  }
  std::array<char, 32> buffer;
  const auto end = buffer.data() + buffer.size();
  return {buffer.data(), std::to_chars(buffer.data(), end, value, std::chars_format::general, kDigits).ptr};
}

std::string Percent(double part, int decimals) {
  const double scale = std::pow(10.0, decimals);
  const double rounded = std::round(part * 100 * scale) / scale;
  return (rounded == 0 ? "less than " + DoubleToString(0.5 / scale) : DoubleToString(rounded)) + " %";
}

}  // namespace winnow
