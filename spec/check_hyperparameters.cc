#include "spec/check_hyperparameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "scheduler/space/space.h"
#include "spec/builtin_trainers.h"
#include "spec/check_mlp.h"
#include "spec/cluster.h"
#include "spec/names.h"

namespace winnow {
namespace {

std::optional<double> ReadReal(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string Legal(const BuiltinHyperparameter& known) {
  if (known.kind == HyperparameterKind::kText) {
    return known.choices.empty() ? "a text" : "one of " + Joined(known.choices);
  }
  const char* what = known.kind == HyperparameterKind::kInteger ? "a whole number" : "a number";
  const std::string more = known.above_min ? "more than " : "at least ";
  if (!known.min) return what;
  if (!known.max) return fmt::format("{} of {}{}", what, more, *known.min);
  return fmt::format("{} of {}{} and {} {}", what, more, *known.min,
                     known.below_max ? "less than" : "at most", *known.max);
}

bool InRange(const BuiltinHyperparameter& known, double value) {
  if (known.min && (known.above_min ? value <= *known.min : value < *known.min)) return false;
  return !known.max || (known.below_max ? value < *known.max : value <= *known.max);
}

bool Takes(const BuiltinHyperparameter& known, const std::string& text) {
  if (known.kind == HyperparameterKind::kText) return ChoiceOf(known, text).has_value();
  const auto value = ReadReal(text);
  if (!value || !InRange(known, *value)) return false;
  return known.kind != HyperparameterKind::kInteger || *value == std::floor(*value);
}

class HyperparameterChecker {
 public:
  explicit HyperparameterChecker(const v1::TuningJobSpec& spec)
      : spec_(spec), trainer_(FindBuiltinTrainer(spec.trainer().builtin())) {}

  std::vector<Violation> Run() {
    const std::map<std::string, std::string> fixed(spec_.static_hyperparameters().begin(),
                                                   spec_.static_hyperparameters().end());
    for (const auto& [name, value] : fixed) {
      const std::string at = "static_hyperparameters." + name;
      Name(at, name);
      if (trainer_ != nullptr) Static(at, name, value);
      if (value.find('\0') != std::string::npos) Add(at, "holds a NUL character; expected text without one");
    }
    for (int i = 0; i < spec_.parameters_size(); ++i) {
      const v1::ParameterSpec& parameter = spec_.parameters(i);
      const std::string at = fmt::format("parameters[{}]", i);
      if (!parameter.name().empty()) Name(at + ".name", parameter.name());
      if (fixed.count(parameter.name()) > 0) {
        Add(at + ".name",
            Quoted(parameter.name()) + " is in static_hyperparameters too; expected one of the two");
      }
      if (parameter.range_case() == v1::ParameterSpec::RANGE_NOT_SET) {
        Add(at, "has no range; expected one of integer, continuous, discrete, categorical");
      } else if (trainer_ != nullptr && !parameter.name().empty() &&
                 !IsNodesParameter(spec_, parameter.name())) {
        Tuned(at, parameter);
      }
    }
    if (trainer_ != nullptr && trainer_->name == "gbdt") Together(fixed);
    if (trainer_ != nullptr && trainer_->name == "mlp") {
      for (Violation& violation : CheckMlp(spec_)) violations_.push_back(std::move(violation));
    }
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }
  void Name(const std::string& at, const std::string& name) {
    const auto allowed = [](unsigned char c) {
      return std::isalnum(c) || std::string("_-.:").find(c) != std::string::npos;
    };
    if (!name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), allowed)) return;
    Add(at, Quoted(name) +
                " is not a hyperparameter's name; expected 1 to 128 letters, digits, '_', '-', '.' or ':'");
  }

  const BuiltinHyperparameter* Known(const std::string& at, const std::string& name) {
    const BuiltinHyperparameter* known = trainer_->Find(name);
    if (known == nullptr) {
      std::vector<std::string> names;
      for (const auto& h : trainer_->hyperparameters) names.push_back(h.name);
      Add(at, Quoted(name) + " is not a hyperparameter of " + trainer_->name + DidYouMean(name, names));
      return nullptr;
    }
    if (!given_.emplace(known->name, name).second && given_[known->name] != name) {
      Add(at,
          Quoted(name) + " means the same as " + Quoted(given_[known->name]) + "; expected one of the two");
    }
    return known;
  }

  void Static(const std::string& at, const std::string& name, const std::string& value) {
    const BuiltinHyperparameter* known = Known(at, name);
    if (known == nullptr || name == "eval_metric") return;
    if (!Takes(*known, value)) Add(at, "is " + Quoted(value) + "; expected " + Legal(*known));
  }

  void Tuned(const std::string& at, const v1::ParameterSpec& parameter) {
    const BuiltinHyperparameter* known = Known(at + ".name", parameter.name());
    if (known == nullptr) return;
    if (!known->tunable) {
      Add(at + ".name", Quoted(parameter.name()) + " cannot be tuned; expected it in static_hyperparameters");
      return;
    }
    switch (parameter.range_case()) {
      case v1::ParameterSpec::kInteger:
        return Ends(at + ".integer", *known, static_cast<double>(parameter.integer().min()),
                    static_cast<double>(parameter.integer().max()));
      case v1::ParameterSpec::kContinuous:
        if (known->kind == HyperparameterKind::kInteger) {
          return Add(at + ".continuous",
                     Quoted(parameter.name()) + " is " + Legal(*known) + "; expected an integer range");
        }
        return Ends(at + ".continuous", *known, parameter.continuous().min(), parameter.continuous().max());
      case v1::ParameterSpec::kDiscrete:
        return Numbers(at + ".discrete", *known, parameter.discrete());
      default:
        return Choices(at + ".categorical", *known, parameter.categorical());
    }
  }

  void Ends(const std::string& at, const BuiltinHyperparameter& known, double min, double max) {
    if (known.kind == HyperparameterKind::kText) {
      return Add(at, Quoted(known.name) + " is " + Legal(known) + "; expected a categorical range");
    }
    if (!InRange(known, min))
      Add(at + ".min", "is " + DoubleToString(min) + "; " + known.name + " is " + Legal(known));
    if (!InRange(known, max))
      Add(at + ".max", "is " + DoubleToString(max) + "; " + known.name + " is " + Legal(known));
  }

  void Numbers(const std::string& at, const BuiltinHyperparameter& known, const v1::DiscreteRange& range) {
    if (known.kind == HyperparameterKind::kText) {
      return Add(at, Quoted(known.name) + " is " + Legal(known) + "; expected a categorical range");
    }
    if (known.name == trainer_->resource_parameter) {
      return Add(at, Quoted(known.name) + " says how far a trial goes; expected an integer range");
    }
    for (int i = 0; i < range.values_size(); ++i) {
      const std::string text = DoubleToString(range.values(i));
      if (std::isfinite(range.values(i)) && !Takes(known, text)) {
        Add(fmt::format("{}.values[{}]", at, i), "is " + text + "; " + known.name + " is " + Legal(known));
      }
    }
  }

  void Choices(const std::string& at, const BuiltinHyperparameter& known, const v1::CategoricalRange& range) {
    if (known.name == trainer_->resource_parameter) {
      return Add(at, Quoted(known.name) + " says how far a trial goes; expected an integer range");
    }
    for (int i = 0; i < range.values_size(); ++i) {
      if (Takes(known, range.values(i))) continue;
      Add(fmt::format("{}.values[{}]", at, i),
          "is " + Quoted(range.values(i)) + "; " + known.name + " is " + Legal(known));
    }
  }

  // What depends on the objective, as trainers/gbdt checks it.
  void Together(const std::map<std::string, std::string>& fixed) {
    const auto given = [&fixed](const char* name) {
      const auto found = fixed.find(name);
      return found == fixed.end() ? std::string() : found->second;
    };
    const std::string objective = given("objective").empty() ? "reg:squarederror" : given("objective");
    const bool multi = objective.rfind("multi:", 0) == 0;
    const double classes = ReadReal(given("num_class")).value_or(0);
    if (multi && classes < 2) {
      Add("static_hyperparameters.num_class",
          (given("num_class").empty() ? "is missing" : "is " + Quoted(given("num_class"))) +
              "; expected at least 2 with objective " + objective);
    }
    if (!multi && classes > 1) {
      Add("static_hyperparameters.num_class",
          "is " + Quoted(given("num_class")) + "; expected none with objective " + objective);
    }
    const auto base = ReadReal(given("base_score"));
    const bool of_probability = objective == "binary:logistic" || objective == "reg:logistic";
    const bool of_log =
        objective == "count:poisson" || objective == "reg:gamma" || objective == "reg:tweedie";
    if (base && ((of_probability && !(*base > 0 && *base < 1)) || (of_log && !(*base > 0)))) {
      Add("static_hyperparameters.base_score", "is " + Quoted(given("base_score")) + "; expected a number " +
                                                   (of_log ? "above 0" : "between 0 and 1") +
                                                   " with objective " + objective);
    }
    if (fixed.count("eval_metric") == 0) return;
    for (const std::string& metric : EvaluatedMetrics(*trainer_, given("eval_metric"), objective)) {
      const auto& known = trainer_->metrics;
      const std::string plain = metric.substr(0, metric.find_first_of('@'));
      const bool has_suffix = plain.size() < metric.size() || (!metric.empty() && metric.back() == '-');
      const bool of_both = plain == "auc" || plain == "aucpr";
      if (!IsMetric(*trainer_, metric)) {
        Add("static_hyperparameters.eval_metric",
            Quoted(metric) + " is not a metric of " + trainer_->name +
                (has_suffix ? "; expected one like " + Joined(trainer_->metric_examples)
                            : DidYouMean(metric, known)));
      } else if (!of_both && (metric == "mlogloss" || metric == "merror") != multi) {
        Add("static_hyperparameters.eval_metric",
            Quoted(metric) + " does not go with objective " + objective + "; expected " +
                (multi ? "mlogloss, merror, auc or aucpr" : "another than mlogloss and merror"));
      }
    }
  }

  const v1::TuningJobSpec& spec_;
  const BuiltinTrainer* trainer_;
  std::map<std::string, std::string> given_;  // by first name: under which it was given
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckHyperparameters(const v1::TuningJobSpec& spec) {
  return HyperparameterChecker(spec).Run();
}

}  // namespace winnow
