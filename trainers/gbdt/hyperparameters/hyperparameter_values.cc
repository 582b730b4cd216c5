#include "trainers/gbdt/hyperparameters/hyperparameter_values.h"

#include <algorithm>

#include "trainers/common/hyperparameter_text.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_names.h"

namespace winnow::gbdt {

using Json = nlohmann::json;

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

}  // namespace winnow::gbdt
