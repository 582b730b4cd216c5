#include "scheduler/validate_space.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/names.h"
#include "scheduler/samplers/random.h"
#include "scheduler/space/space.h"

namespace winnow {
namespace {

constexpr size_t kMostParameters = 1000;

std::string Entry(const std::string& field, size_t index) {
  return field + "[" + std::to_string(index) + "]";
}

// "an integer from 1 to 8", "one of a, b"
std::string ExpectedOf(const Range& range) {
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    return "an integer from " + std::to_string(integer->min) + " to " + std::to_string(integer->max);
  }
  if (const auto* real = std::get_if<ContinuousRange>(&range)) {
    return "a number from " + DoubleToString(real->min) + " to " + DoubleToString(real->max);
  }
  std::vector<std::string> texts;
  for (int64_t i = 0, n = ValueCount(range); i < n; ++i) texts.push_back(ValueToString(NthValue(range, i)));
  return "one of " + Joined(texts);
}

class SpaceValidator {
 public:
  explicit SpaceValidator(const SearchSpec& spec) : spec_(spec) {}

  std::vector<Violation> Run() {
    Parameters();
    // The rest speaks of ranges and conditions, which have to be right for that.
    if (!violations_.empty()) return std::move(violations_);
    for (size_t i = 0; i < spec_.constraints.size(); ++i)
      Constraint(Entry("constraints", i), spec_.constraints[i]);
    if (!violations_.empty()) return std::move(violations_);
    const SearchSpace space(spec_.parameters, spec_.constraints);
    Drawn(space);
    for (size_t i = 0; i < spec_.initial.size(); ++i) Initial(space, i);
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }

  void Parameters() {
    if (spec_.parameters.empty()) {
      Add("parameters", "is empty; expected at least one hyperparameter to tune");
    }
    if (spec_.parameters.size() > kMostParameters) {
      Add("parameters", "has " + std::to_string(spec_.parameters.size()) + " entries; expected at most 1000");
    }
    std::set<std::string> names;
    for (size_t i = 0; i < spec_.parameters.size(); ++i) {
      const Parameter& parameter = spec_.parameters[i];
      const std::string at = Entry("parameters", i);
      if (parameter.name.empty()) {
        Add(at + ".name", "is empty; expected the name of a hyperparameter");
      } else if (!names.insert(parameter.name).second) {
        Add(at + ".name", Quoted(parameter.name) + " is declared twice; expected every name once");
      }
      const size_t before = violations_.size();
      std::visit([this, &at](const auto& range) { RangeOf(at, range); }, parameter.range);
      if (parameter.prior && violations_.size() == before) PriorOf(at + ".prior.value", parameter);
      if (parameter.condition) ConditionOf(i, at + ".condition", *parameter.condition);
    }
  }

  void RangeOf(const std::string& at, const IntegerRange& range) {
    const std::string field = at + ".integer";
    if (range.min > range.max) {
      Add(field + ".min", "is " + std::to_string(range.min) +
                              ", more than max = " + std::to_string(range.max) + "; expected min <= max");
    }
    if (range.scaling == Scaling::kLog && range.min <= 0) {
      Add(field + ".min", "is " + std::to_string(range.min) + " under LOG scaling; expected min >= 1");
    }
  }

  void RangeOf(const std::string& at, const ContinuousRange& range) {
    const std::string field = at + ".continuous";
    const std::string min = DoubleToString(range.min), max = DoubleToString(range.max);
    if (!std::isfinite(range.min)) Add(field + ".min", "is " + min + "; expected a finite number");
    if (!std::isfinite(range.max)) Add(field + ".max", "is " + max + "; expected a finite number");
    if (!std::isfinite(range.min) || !std::isfinite(range.max)) return;
    if (range.min > range.max) {
      Add(field + ".min", "is " + min + ", more than max = " + max + "; expected min <= max");
    }
    if (range.scaling == Scaling::kLog && range.min <= 0) {
      Add(field + ".min", "is " + min + " under LOG scaling; expected min > 0");
    }
    if (range.scaling == Scaling::kReverseLog && range.min < 0) {
      Add(field + ".min", "is " + min + " under REVERSE_LOG scaling; expected min >= 0");
    }
    if (range.scaling == Scaling::kReverseLog && range.max >= 1) {
      Add(field + ".max", "is " + max + " under REVERSE_LOG scaling; expected max < 1");
    }
  }

  void RangeOf(const std::string& at, const DiscreteRange& range) {
    const std::string field = at + ".discrete.values";
    if (range.values.empty()) Add(field, "is empty; expected at least one value");
    for (size_t i = 0; i < range.values.size(); ++i) {
      const std::string value = DoubleToString(range.values[i]);
      if (!std::isfinite(range.values[i])) {
        Add(Entry(field, i), "is " + value + "; expected a finite number");
      } else if (i > 0 && range.values[i] <= range.values[i - 1]) {
        Add(Entry(field, i),
            "is " + value + ", after " + DoubleToString(range.values[i - 1]) + "; expected rising values");
      }
    }
  }

  void RangeOf(const std::string& at, const CategoricalRange& range) {
    const std::string field = at + ".categorical.values";
    if (range.values.empty()) Add(field, "is empty; expected at least one value");
    std::set<std::string> values;
    for (size_t i = 0; i < range.values.size(); ++i) {
      if (values.insert(range.values[i]).second) continue;
      Add(Entry(field, i), Quoted(range.values[i]) + " is listed twice; expected every value once");
    }
  }

  void PriorOf(const std::string& at, const Parameter& parameter) {
    if (Contains(parameter.range, parameter.prior->value)) return;
    Add(at,
        "is " + Quoted(ValueToString(parameter.prior->value)) + "; expected " + ExpectedOf(parameter.range));
  }

  void ConditionOf(size_t index, const std::string& at, const Condition& condition) {
    const std::string& name = spec_.parameters[index].name;
    if (static_cast<int>(index) == spec_.own_end_parameter) {
      Add(at,
          "makes " + name + " conditional, which says where the trainer ends; expected it in every trial");
    }
    if (condition.parent < 0 || condition.parent >= static_cast<int>(index)) {
      const bool known =
          condition.parent >= 0 && condition.parent < static_cast<int>(spec_.parameters.size());
      Add(at + ".parameter",
          (known ? "is " + Quoted(spec_.parameters[condition.parent].name) : "is none of them") +
              "; expected a parameter that is declared before " + name);
      return;
    }
    const Parameter& parent = spec_.parameters[condition.parent];
    if (std::holds_alternative<ContinuousRange>(parent.range)) {
      Add(at + ".parameter",
          "is " + Quoted(parent.name) +
              ", which is continuous; expected an integer, discrete or categorical parameter");
      return;
    }
    if (condition.values.empty())
      Add(at + ".values", "is empty; expected at least one value of " + parent.name);
    bool told = false;  // whether the parent's values, which may be many, were listed already
    for (size_t i = 0; i < condition.values.size(); ++i) {
      if (Contains(parent.range, condition.values[i])) continue;
      Add(Entry(at + ".values", i),
          "is " + Quoted(ValueToString(condition.values[i])) + ", which " + parent.name + " never is" +
              (std::exchange(told, true) ? "" : "; expected " + ExpectedOf(parent.range)));
    }
  }

  void Constraint(const std::string& at, const LinearConstraint& constraint) {
    if (constraint.terms.empty()) Add(at + ".coefficients", "is empty; expected at least one parameter");
    bool known = true;
    for (const auto& [index, coefficient] : constraint.terms) {
      if (index < 0 || index >= static_cast<int>(spec_.parameters.size())) {
        Add(at + ".coefficients", "names parameter " + std::to_string(index) + "; expected declared ones");
        known = false;
        continue;
      }
      const Parameter& parameter = spec_.parameters[index];
      const std::string field = at + ".coefficients." + parameter.name;
      if (std::holds_alternative<CategoricalRange>(parameter.range)) {
        Add(field, "is of a categorical parameter; expected integer, continuous or discrete ones");
      }
      if (!std::isfinite(coefficient)) {
        Add(field, "is " + DoubleToString(coefficient) + "; expected a finite number");
      }
    }
    const double infinity = std::numeric_limits<double>::infinity();
    const std::string min = DoubleToString(constraint.min), max = DoubleToString(constraint.max);
    if (constraint.min == -infinity && constraint.max == infinity) {
      Add(at, "has neither min nor max; expected at least one of them");
    } else if (std::isnan(constraint.min) || constraint.min == infinity) {
      Add(at + ".min", "is " + min + "; expected a number");
    } else if (std::isnan(constraint.max) || constraint.max == -infinity) {
      Add(at + ".max", "is " + max + "; expected a number");
    } else if (constraint.min > constraint.max) {
      Add(at + ".min", "is " + min + ", more than max = " + max + "; expected min <= max");
    }
    if (known) Together(at, constraint);
  }

  // A constraint counts where all of its parameters are active: there has to be such a place.
  void Together(const std::string& at, const LinearConstraint& constraint) {
    std::map<int, std::vector<Value>> allowed;  // values that a parent must have one of
    std::vector<int> waiting;
    for (const auto& [index, coefficient] : constraint.terms) waiting.push_back(index);
    while (!waiting.empty()) {
      const auto& condition = spec_.parameters[waiting.back()].condition;
      waiting.pop_back();
      if (!condition) continue;
      const auto [entry, first] = allowed.emplace(condition->parent, condition->values);
      if (!first) {
        std::erase_if(entry->second, [&condition](const Value& value) {
          return std::find(condition->values.begin(), condition->values.end(), value) ==
                 condition->values.end();
        });
      }
      if (entry->second.empty()) {
        return Add(at + ".coefficients", "names parameters that are never active together, because of " +
                                             spec_.parameters[condition->parent].name +
                                             "; expected some that a configuration can have");
      }
      waiting.push_back(condition->parent);
    }
  }

  void Drawn(const SearchSpace& space) {
    if (spec_.constraints.empty() || CanBeDrawn(spec_, space)) return;
    Add("constraints",
        "are kept by none of " + std::to_string(MostDraws(spec_)) +
            " configurations drawn at random; expected wider bounds, or narrower ranges to draw from");
  }

  void Initial(const SearchSpace& space, size_t number) {
    const Configuration& configuration = spec_.initial[number];
    const std::string at = Entry("initial_configurations", number) + ".hyperparameters";
    if (configuration.size() != spec_.parameters.size()) {
      return Add(at, "has " + std::to_string(configuration.size()) + " values; expected " +
                         std::to_string(spec_.parameters.size()));
    }
    const size_t before = violations_.size();
    for (size_t i = 0; i < configuration.size(); ++i) {
      const Parameter& parameter = spec_.parameters[i];
      const bool given = !std::holds_alternative<Inactive>(configuration[i]);
      const std::string field = at + "." + parameter.name;
      const std::string value = "is " + Quoted(ValueToString(configuration[i]));
      if (!space.IsActive(i, configuration)) {
        if (!given) continue;
        Add(field, value + ", but " + parameter.name + " is not active with this " +
                       spec_.parameters[parameter.condition->parent].name + "; expected none");
      } else if (!given) {
        Add(field, "is missing; expected " + ExpectedOf(parameter.range));
      } else if (!Contains(parameter.range, configuration[i])) {
        Add(field, value + "; expected " + ExpectedOf(parameter.range));
      }
    }
    if (violations_.size() > before) return;
    for (size_t c = 0; c < spec_.constraints.size(); ++c) {
      const LinearConstraint& constraint = spec_.constraints[c];
      if (SearchSpace::Satisfies(constraint, configuration)) continue;
      Add(at, "breaks " + Entry("constraints", c) + "; expected " + Bounds(constraint));
    }
    const auto [same, is_new] = first_of_.emplace(configuration, number);
    if (is_new) return;
    Add(at, "is the same as " + Entry("initial_configurations", same->second) + "; expected different ones");
  }

  // "0 <= 2 x - y <= 8"
  std::string Bounds(const LinearConstraint& constraint) const {
    std::string text;
    for (const auto& [index, coefficient] : constraint.terms) {
      const double size = std::abs(coefficient);
      const char* sign = coefficient < 0 ? (text.empty() ? "-" : " - ") : (text.empty() ? "" : " + ");
      text += sign + (size == 1 ? "" : DoubleToString(size) + " ") + spec_.parameters[index].name;
    }
    if (std::isfinite(constraint.min)) text = DoubleToString(constraint.min) + " <= " + text;
    if (std::isfinite(constraint.max)) text += " <= " + DoubleToString(constraint.max);
    return text;
  }

  const SearchSpec& spec_;
  std::vector<Violation> violations_;
  std::map<Configuration, size_t> first_of_;  // initial configurations seen, and where first
};

}  // namespace

std::vector<Violation> ValidateSpace(const SearchSpec& spec) { return SpaceValidator(spec).Run(); }

}  // namespace winnow
