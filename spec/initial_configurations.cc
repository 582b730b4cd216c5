#include "spec/initial_configurations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/names.h"
#include "scheduler/space/space.h"
#include "spec/builtin_trainers.h"
#include "spec/values.h"

namespace winnow {
namespace {

// Violations of many configurations say nothing new.
constexpr size_t kEnoughSaid = 1000;

using Texts = std::map<std::string, std::string>;

// Given the values of earlier parameters.
bool IsActive(const Parameter& parameter, const Configuration& before) {
  if (!parameter.condition) return true;
  const auto parent = static_cast<size_t>(parameter.condition->parent);
  const auto& values = parameter.condition->values;
  return parent < before.size() && std::find(values.begin(), values.end(), before[parent]) != values.end();
}

// The value of the range that is nearest; absent: none is meant.
std::optional<Value> Nearest(const Range& range, const std::string& text) {
  std::optional<Value> value = ReadValue(range, text);
  if (!value || Contains(range, *value)) return value;
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    return Value(std::clamp(std::get<int64_t>(*value), integer->min, integer->max));
  }
  if (const auto* continuous = std::get_if<ContinuousRange>(&range)) {
    return Value(std::clamp(std::get<double>(*value), continuous->min, continuous->max));
  }
  if (const auto* discrete = std::get_if<DiscreteRange>(&range)) {
    const double meant = std::get<double>(*value);
    return Value(*std::min_element(
        discrete->values.begin(), discrete->values.end(),
        [meant](double a, double b) { return std::fabs(a - meant) < std::fabs(b - meant); }));
  }
  return std::nullopt;
}

// A hyperparameter that the portfolio does not speak of has its range's first value.
std::optional<Configuration> FromPortfolio(const BuiltinTrainer& trainer, const Texts& texts,
                                           const SearchSpec& search) {
  Configuration configuration;
  for (const Parameter& parameter : search.parameters) {
    if (!IsActive(parameter, configuration)) {
      configuration.emplace_back(Inactive{});
      continue;
    }
    const auto text = texts.find(std::string(trainer.FirstName(parameter.name)));
    std::optional<Value> value = text != texts.end() ? Nearest(parameter.range, text->second)
                                 : std::holds_alternative<ContinuousRange>(parameter.range)
                                     ? Value(std::get<ContinuousRange>(parameter.range).min)
                                     : NthValue(parameter.range, 0);
    if (!value) return std::nullopt;
    configuration.push_back(*std::move(value));
  }
  return configuration;
}

// Absent: not a configuration of the space's parameters.
std::optional<Configuration> FromTexts(const Texts& texts, const SearchSpec& search) {
  Configuration configuration;
  for (const Parameter& parameter : search.parameters) {
    const auto text = texts.find(parameter.name);
    const bool active = IsActive(parameter, configuration);
    if (active != (text != texts.end())) return std::nullopt;
    std::optional<Value> value = active ? ReadValue(parameter.range, text->second) : Value(Inactive{});
    if (!value) return std::nullopt;
    configuration.push_back(*std::move(value));
  }
  return configuration;
}

Texts ToTexts(const v1::InitialConfiguration& given) {
  return {given.hyperparameters().begin(), given.hyperparameters().end()};
}

class Checker {
 public:
  Checker(const Texts& texts, const SearchSpec& search, std::string at, std::vector<Violation>* violations)
      : texts_(texts), search_(search), at_(std::move(at)), violations_(violations) {}

  void Run() {
    std::vector<std::string> names;
    for (const Parameter& parameter : search_.parameters) names.push_back(parameter.name);
    for (const auto& [name, text] : texts_) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      Add(name, "is not a tuned hyperparameter" + DidYouMean(name, names));
    }
    Configuration configuration;
    for (const Parameter& parameter : search_.parameters)
      configuration.push_back(ValueOf(parameter, configuration));
  }

 private:
  void Add(const std::string& name, const std::string& description) {
    violations_->push_back({at_ + ".hyperparameters." + name, description});
  }

  // Inactive: nothing can be said of those that depend on it, either because it is, or because it is wrong.
  Value ValueOf(const Parameter& parameter, const Configuration& before) {
    const auto text = texts_.find(parameter.name);
    const bool given = text != texts_.end();
    if (!IsActive(parameter, before)) {
      if (given && !unknown_)
        Add(parameter.name, "is \"" + text->second + "\", but " + Why(parameter) + "; expected none");
      return Inactive{};
    }
    if (!given) {
      Add(parameter.name, "is missing; expected " + ExpectedValue(parameter.range));
      unknown_ = true;
      return Inactive{};
    }
    const auto value = ReadValue(parameter.range, text->second);
    if (value && Contains(parameter.range, *value)) return *value;
    Add(parameter.name, "is \"" + text->second + "\"; expected " + ExpectedValue(parameter.range));
    unknown_ = true;
    return Inactive{};
  }

  std::string Why(const Parameter& parameter) const {
    const Parameter& parent = search_.parameters[static_cast<size_t>(parameter.condition->parent)];
    std::vector<std::string> values;
    for (const Value& value : parameter.condition->values) values.push_back(ValueToString(value));
    return "it exists only where " + parent.name + " is one of " + Joined(values);
  }

  const Texts& texts_;
  const SearchSpec& search_;
  const std::string at_;
  std::vector<Violation>* violations_;
  bool unknown_ = false;  // a value that others may depend on is wrong
};

}  // namespace

std::vector<Configuration> InitialConfigurations(const v1::TuningJobSpec& spec, const SearchSpec& search) {
  std::vector<Configuration> initial;
  for (const v1::InitialConfiguration& given : spec.initial_configurations()) {
    if (auto configuration = FromTexts(ToTexts(given), search)) initial.push_back(*std::move(configuration));
  }
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (!spec.use_portfolio() || trainer == nullptr || !ValidateSearch(search).empty()) return initial;
  const SearchSpace space(search.parameters, search.constraints);
  for (const Texts& texts : trainer->portfolio) {
    auto configuration = FromPortfolio(*trainer, texts, search);
    if (!configuration || !space.Holds(*configuration)) continue;
    if (std::find(initial.begin(), initial.end(), *configuration) == initial.end()) {
      initial.push_back(*std::move(configuration));
    }
  }
  return initial;
}

std::vector<Violation> CheckInitialConfigurations(const v1::TuningJobSpec& spec, const SearchSpec& search) {
  std::vector<Violation> violations;
  for (int i = 0; i < spec.initial_configurations_size() && violations.size() < kEnoughSaid; ++i) {
    const Texts texts = ToTexts(spec.initial_configurations(i));
    Checker(texts, search, fmt::format("initial_configurations[{}]", i), &violations).Run();
  }
  return violations;
}

std::vector<Violation> CheckConfiguration(const v1::InitialConfiguration& given, const SearchSpec& search,
                                          const std::string& at) {
  std::vector<Violation> violations;
  const Texts texts = ToTexts(given);
  Checker(texts, search, at, &violations).Run();
  return violations;
}

Configuration ReadConfiguration(const v1::InitialConfiguration& given, const SearchSpec& search) {
  std::optional<Configuration> configuration = FromTexts(ToTexts(given), search);
  WINNOW_CHECK(configuration.has_value(), "a configuration is read after it was checked");
  return *std::move(configuration);
}

}  // namespace winnow
