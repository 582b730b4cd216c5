#include "cli/output/format.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "absl/time/time.h"
#include "cli/output/text.h"
#include "spec/table_cell.h"

namespace winnow::cli {
namespace {

bool IsSet(const google::protobuf::Timestamp& time) { return time.seconds() != 0 || time.nanos() != 0; }

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

}  // namespace

std::string Thousands(int64_t number) {
  std::string digits = fmt::format("{}", number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t end = digits.size(); end > first + 3;) {
    end -= 3;
    digits.insert(end, ",");
  }
  return digits;
}

std::string Count(int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", Thousands(number), noun, number == 1 ? "" : "s");
}

std::string NumberText(double number) { return fmt::format("{:.6g}", number); }

std::string PercentText(double fraction) {
  const double percent = fraction * 100;
  const bool whole = std::fabs(percent) >= 9.95 || percent == 0;
  return whole ? fmt::format("{:.0f} %", percent) : fmt::format("{:.1f} %", percent);
}

std::string DurationText(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  seconds = std::max(seconds, 0.0);
  if (seconds < 0.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(std::min(seconds, 1e15)));
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {:02} h", whole / 86400, whole / 3600 % 24);
}

std::string BarText(double fraction, int width) {
  fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0;
  const int halves = static_cast<int>(std::floor(fraction * width * 2));
  std::string bar;
  for (int i = 0; i < width; ++i) bar += halves >= 2 * i + 2 ? "━" : halves == 2 * i + 1 ? "╸" : "─";
  return bar;
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  return IsSet(time) ? absl::FormatTime("%Y-%m-%d %H:%M:%S", ToTime(time), absl::LocalTimeZone()) : "";
}

std::string ClockText(const google::protobuf::Timestamp& time) {
  return IsSet(time) ? absl::FormatTime("%H:%M:%S", ToTime(time), absl::LocalTimeZone()) : "";
}

std::string UtcText(const google::protobuf::Timestamp& time) {
  return IsSet(time) ? absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", ToTime(time), absl::UTCTimeZone()) : "";
}

std::string ValueText(const v1::HyperparameterValue& value, bool exact) {
  switch (value.value_case()) {
    case v1::HyperparameterValue::kInteger:
      return fmt::format("{}", value.integer());
    case v1::HyperparameterValue::kContinuous:
      return exact ? fmt::format("{}", value.continuous()) : NumberText(value.continuous());
    case v1::HyperparameterValue::kCategorical:
      return exact ? value.categorical() : Clean(value.categorical());
    case v1::HyperparameterValue::VALUE_NOT_SET:
      return "";
  }
  return "";
}

std::string ValueText(const v1::Trial& trial, const std::string& name, bool exact) {
  for (const auto& value : trial.hyperparameters()) {
    if (value.name() == name) return ValueText(value, exact);
  }
  return "";
}

std::string CsvField(std::string_view text) {
  const std::string cell = WithFormulaGuard(text);
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string CsvLine(const std::vector<std::string>& fields) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) line += (i > 0 ? "," : "") + fields[i];
  return line + "\n";
}

double SecondsBetween(const google::protobuf::Timestamp& start, const google::protobuf::Timestamp& end) {
  return IsSet(start) && IsSet(end) ? absl::ToDoubleSeconds(ToTime(end) - ToTime(start)) : 0;
}

}  // namespace winnow::cli
