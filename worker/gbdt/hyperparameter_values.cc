#include "worker/gbdt/hyperparameter_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "worker/gbdt/hyperparameter_names.h"

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

absl::Status ReadMetrics(const Json& value, std::vector<Metric>* metrics) {
  std::vector<std::string> names;
  Json list = value;
  if (value.is_string()) {
    const std::string text = Trimmed(value.get<std::string>());
    if (!text.empty() && text.front() == '[') {
      list = Json::parse(text, nullptr, false);
    } else {
      for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        names.push_back(Trimmed(std::string_view(text).substr(from, comma - from)));
        from = comma + 1;
      }
    }
  }
  if (list.is_array()) {
    for (const Json& entry : list) {
      if (!entry.is_string()) return BadValue("eval_metric", value, "a list of names");
      names.push_back(Trimmed(entry.get<std::string>()));
    }
  }
  if (names.empty())
    return BadValue("eval_metric", value, "a name, names with commas between, or a JSON list of names");
  for (const std::string& name : names) {
    const absl::StatusOr<Metric> metric = ParseMetric(name);
    if (!metric.ok()) return metric.status();
    if (std::find(metrics->begin(), metrics->end(), *metric) == metrics->end()) metrics->push_back(*metric);
  }
  return absl::OkStatus();
}

absl::Status ReadMonotone(const Json& value, GbdtParameters* parameters) {
  const char* name = "monotone_constraints";
  const char* expected = R"=(-1, 0 or 1 per feature as "(1,-1,0)", [1,-1,0] or {"feature": 1})=";
  Json given = value;
  if (value.is_string()) {
    std::string text = Trimmed(value.get<std::string>());
    if (text.size() >= 2 && text.front() == '(' && text.back() == ')') {
      if (text[text.size() - 2] == ',') text.erase(text.size() - 2, 1);  // Python's "(1,)"
      text.front() = '[';
      text.back() = ']';
    }
    if (text.empty()) return absl::OkStatus();
    given = Json::parse(text, nullptr, false);
  }
  if (!given.is_array() && !given.is_object()) return BadValue(name, value, expected);
  for (const auto& [feature, entry] : given.items()) {
    const std::optional<int64_t> direction = AsWhole(entry);
    if (!direction || *direction < -1 || *direction > 1) return BadValue(name, value, expected);
    if (given.is_array())
      parameters->monotone_constraints.push_back(static_cast<int>(*direction));
    else
      parameters->monotone_by_name[feature] = static_cast<int>(*direction);
  }
  return absl::OkStatus();
}

absl::Status ReadInteractions(const Json& value, GbdtParameters* parameters) {
  const char* name = "interaction_constraints";
  const char* expected = R"(a list of lists of feature names or numbers, as [["age", "sex"], [0, 2]])";
  Json given = value;
  if (value.is_string()) {
    const std::string text = Trimmed(value.get<std::string>());
    if (text.empty()) return absl::OkStatus();
    given = Json::parse(text, nullptr, false);
  }
  if (!given.is_array()) return BadValue(name, value, expected);
  for (const Json& group : given) {
    if (!group.is_array()) return BadValue(name, value, expected);
    std::vector<std::string>& features = parameters->interaction_constraints.emplace_back();
    for (const Json& feature : group) {
      if (!feature.is_string() && !feature.is_number_unsigned()) return BadValue(name, value, expected);
      features.push_back(Shown(feature));
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow
