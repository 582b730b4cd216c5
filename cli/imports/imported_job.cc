#include "cli/imports/imported_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"

namespace winnow::cli::imports {

void ImportedJob::LeaveOut(const std::string& what, const std::string& why) {
  left_out.push_back(what + ": " + why);
}

void ImportedJob::AddStatic(const std::string& name, const OrderedJson& value, const std::string& what) {
  if (value.is_null()) return LeaveOut(what, "is null; a hyperparameter has a value");
  job["static_hyperparameters"][name] = value.is_structured() ? OrderedJson(value.dump()) : value;
}

void ImportedJob::LeaveOutOthers(const OrderedJson& object, const std::vector<std::string>& known,
                                 const std::string& path, const std::string& why) {
  if (!object.is_object()) return;
  for (const auto& [name, value] : object.items()) {
    if (value.is_null() || std::find(known.begin(), known.end(), name) != known.end()) continue;
    LeaveOut(path.empty() ? name : path + "." + name, why);
  }
}

std::string TextOf(const OrderedJson& object, const std::string& member) {
  const OrderedJson& value = object.is_object() && object.contains(member) ? object[member] : OrderedJson();
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() || value.is_boolean() ? value.dump() : "";
}

const OrderedJson& MemberOf(const OrderedJson& object, const std::string& member) {
  static const auto* const empty = new OrderedJson(OrderedJson::object());
  return object.is_object() && object.contains(member) ? object[member] : *empty;
}

absl::StatusOr<std::string> GoalOf(const OrderedJson& object, const std::string& member,
                                   const std::string& path) {
  const std::string given = TextOf(object, member);
  const std::string word = absl::AsciiStrToLower(given);
  if (word == "max" || word == "maximize") return "MAXIMIZE";
  if (word == "" || word == "min" || word == "minimize") return "MINIMIZE";
  return absl::InvalidArgumentError(fmt::format("{}: is \"{}\"; expected minimize or maximize", path, given));
}

bool NumberOf(const OrderedJson& value, double& number) {
  if (value.is_number()) {
    number = value.get<double>();
    return std::isfinite(number);
  }
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
}

int64_t WholeOf(double number) { return static_cast<int64_t>(std::clamp(number, -9e18, 9e18)); }

OrderedJson NumberParameter(const std::string& name, bool integer, double least, double most,
                            const std::string& scaling) {
  OrderedJson range = OrderedJson::object();
  const auto put = [&](const char* at, double value) {
    if (integer) {
      range[at] = WholeOf(std::round(value));
    } else {
      range[at] = value;
    }
  };
  put("min", least);
  put("max", most);
  if (!scaling.empty() && scaling != "LINEAR") range["scaling"] = scaling;
  return {{"name", name}, {integer ? "integer" : "continuous", range}};
}

OrderedJson ListParameter(const std::string& name, const OrderedJson& values) {
  const bool numbers =
      std::all_of(values.begin(), values.end(), [](const OrderedJson& value) { return value.is_number(); });
  OrderedJson listed = OrderedJson::array();
  for (const OrderedJson& value : values) {
    if (numbers || value.is_string()) {
      listed.push_back(value);
    } else {
      listed.push_back(value.dump());
    }
  }
  if (numbers) std::sort(listed.begin(), listed.end(), [](const auto& a, const auto& b) { return a < b; });
  return {{"name", name}, {numbers ? "discrete" : "categorical", {{"values", listed}}}};
}

OrderedJson SteppedValues(double least, double most, double step) {
  OrderedJson values = OrderedJson::array();
  constexpr double kMostSteps = 1000;
  if (!(step > 0) || (most - least) / step >= kMostSteps) return values;
  const bool whole = std::floor(least) == least && std::floor(step) == step;
  for (int n = 0; least + n * step <= most + step * 1e-9; ++n) {
    const double value = std::strtod(fmt::format("{:.12g}", least + n * step).c_str(), nullptr);  // 0.3
    if (whole) {
      values.push_back(WholeOf(value));
    } else {
      values.push_back(value);
    }
  }
  return values;
}

}  // namespace winnow::cli::imports
