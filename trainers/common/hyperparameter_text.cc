#include "trainers/common/hyperparameter_text.h"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace winnow {

using Json = nlohmann::json;

std::string Shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

absl::Status BadValue(const std::string& name, const Json& value, const std::string& expected) {
  return absl::InvalidArgumentError(
      fmt::format("hyperparameter {} = {}: expected {}", name, Shown(value), expected));
}

std::string Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return std::string(text);
}

std::optional<double> AsReal(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string text = Trimmed(value.get<std::string>());
  char* end = nullptr;
  const double real = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return real;
}

std::optional<int64_t> AsWhole(const Json& value) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > std::numeric_limits<int64_t>::max()) return {};
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_string()) {
    const std::string text = Trimmed(value.get<std::string>());
    char* end = nullptr;
    errno = 0;
    const long long whole = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == '\0' && errno == 0) return whole;
  }
  const std::optional<double> real = AsReal(value);
  if (!real || std::floor(*real) != *real || std::fabs(*real) > 9e15) return std::nullopt;
  return static_cast<int64_t>(*real);
}

std::optional<bool> AsTruth(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  const std::string text = Trimmed(Shown(value));
  if (text == "1" || text == "true" || text == "True") return true;
  if (text == "0" || text == "false" || text == "False") return false;
  return std::nullopt;
}

}  // namespace winnow
