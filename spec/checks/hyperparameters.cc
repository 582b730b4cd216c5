#include "spec/checks/hyperparameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

#include "base/names.h"
#include "scheduler/space/space.h"
#include "spec/builtin_trainers.h"
#include "spec/checks/mlp.h"
#include "spec/cluster.h"
#include "spec/strategy.h"

namespace winnow {
namespace {

using ValueKind = Hyperparameter::Kind;

bool IsNumber(const Hyperparameter& known) {
  return known.kind == ValueKind::kReal || known.kind == ValueKind::kWhole;
}

class HyperparameterChecker {
 public:
  explicit HyperparameterChecker(const v1::TuningJobSpec& spec)
      : spec_(spec),
        trainer_(FindBuiltinTrainer(spec.trainer().builtin())),
        continues_others_(TraitsOf(StrategyOf(spec).pruner.kind).population) {}

  std::vector<Violation> Run() {
    const std::map<std::string, std::string> fixed(spec_.static_hyperparameters().begin(),
                                                   spec_.static_hyperparameters().end());
    for (const auto& [name, value] : fixed) {
      const std::string at = "static_hyperparameters." + name;
      Name(at, name);
      if (trainer_ != nullptr) Static(at, name, value);
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
    if (trainer_ != nullptr) Together();
    if (trainer_ != nullptr && trainer_->name == "mlp") {
      for (Violation& violation : CheckMlpRanks(spec_)) violations_.push_back(std::move(violation));
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

  std::optional<Hyperparameter> Known(const std::string& at, const std::string& name) {
    std::optional<Hyperparameter> known = trainer_->Find(name);
    if (!known) {
      Add(at, Quoted(name) + " is not a hyperparameter of " + trainer_->name +
                  DidYouMean(name, trainer_->declaration->Names()));
      return std::nullopt;
    }
    const std::string& first = given_.try_emplace(std::string(known->name), name).first->second;
    if (first != name)
      Add(at, Quoted(name) + " means the same as " + Quoted(first) + "; expected one of the two");
    return known;
  }

  // REQUIRES: the spec gives it.
  const std::string& GivenName(const Hyperparameter& known) const {
    return given_.at(std::string(known.name));
  }

  void Static(const std::string& at, const std::string& name, const std::string& value) {
    const auto known = Known(at, name);
    if (known && !Read(*known, value))
      Add(at, "is " + Quoted(value) + "; expected " + Expected(*known, value));
  }

  void Tuned(const std::string& at, const v1::ParameterSpec& parameter) {
    const auto known = Known(at + ".name", parameter.name());
    if (!known) return;
    if (!known->tunable) {
      Add(at + ".name", Quoted(parameter.name()) + " cannot be tuned; expected it in static_hyperparameters");
      return;
    }
    if (continues_others_ && !known->may_change) {
      std::vector<std::string> may;
      for (const Hyperparameter* other : trainer_->declaration->hyperparameters) {
        if (other->may_change) may.emplace_back(other->name);
      }
      Add(at + ".name", Quoted(parameter.name()) +
                            " cannot change while a model is trained, as PBT would have it; expected it in "
                            "static_hyperparameters, or one of " +
                            Joined(may));
      return;
    }
    switch (parameter.range_case()) {
      case v1::ParameterSpec::kInteger:
        return Ends(at + ".integer", *known, static_cast<double>(parameter.integer().min()),
                    static_cast<double>(parameter.integer().max()));
      case v1::ParameterSpec::kContinuous:
        if (known->kind == ValueKind::kWhole || known->kind == ValueKind::kTruth) {
          return Add(at + ".continuous",
                     Quoted(parameter.name()) + " is " + Expected(*known) + "; expected an integer range");
        }
        return Ends(at + ".continuous", *known, parameter.continuous().min(), parameter.continuous().max());
      case v1::ParameterSpec::kDiscrete:
        return Numbers(at + ".discrete", *known, parameter.discrete());
      default:
        return Choices(at + ".categorical", *known, parameter.categorical());
    }
  }

  // Whether it can be searched as a number; else a violation says so.
  bool HasNumbers(const std::string& at, const Hyperparameter& known) {
    if (IsNumber(known) || known.kind == ValueKind::kTruth) return true;
    Add(at, Quoted(GivenName(known)) + " is " + Expected(known) + "; expected a categorical range");
    return false;
  }

  void Ends(const std::string& at, const Hyperparameter& known, double min, double max) {
    if (!HasNumbers(at, known)) return;
    for (const auto& [end, value] : {std::pair(".min", min), std::pair(".max", max)}) {
      const std::string text = DoubleToString(value);
      if (std::isfinite(value) && !known.range.Holds(value)) NotLegal(at + end, known, text, text);
    }
  }

  void Numbers(const std::string& at, const Hyperparameter& known, const v1::DiscreteRange& range) {
    if (!HasNumbers(at, known) || SaysHowFar(at, known)) return;
    for (int i = 0; i < range.values_size(); ++i) {
      const std::string text = DoubleToString(range.values(i));
      if (std::isfinite(range.values(i)) && !Read(known, text))
        NotLegal(fmt::format("{}.values[{}]", at, i), known, text, text);
    }
  }

  void Choices(const std::string& at, const Hyperparameter& known, const v1::CategoricalRange& range) {
    if (SaysHowFar(at, known)) return;
    for (int i = 0; i < range.values_size(); ++i) {
      if (!Read(known, range.values(i)))
        NotLegal(fmt::format("{}.values[{}]", at, i), known, range.values(i), Quoted(range.values(i)));
    }
  }

  void NotLegal(const std::string& at, const Hyperparameter& known, const std::string& text,
                const std::string& shown) {
    Add(at, fmt::format("is {}; {} is {}", shown, GivenName(known), Expected(known, text)));
  }

  bool SaysHowFar(const std::string& at, const Hyperparameter& known) {
    if (known.name != trainer_->resource_parameter) return false;
    Add(at, Quoted(GivenName(known)) + " says how far a trial goes; expected an integer range");
    return true;
  }

  // Values that do not go together in any trial.
  void Together() {
    for (const Contradiction& found : trainer_->declaration->contradictions(GivenIn(spec_))) {
      const auto given = given_.find(found.name);
      const std::string& name = given == given_.end() ? found.name : given->second;
      std::string at = "static_hyperparameters." + name;
      for (int i = 0; i < spec_.parameters_size(); ++i) {
        if (spec_.parameters(i).name() == name) at = fmt::format("parameters[{}].name", i);
      }
      Add(at, (found.value             ? "is " + Quoted(*found.value)
               : given == given_.end() ? "is missing"
                                       : Quoted(name) + " is tuned") +
                  "; expected " + found.expected);
    }
  }

  const v1::TuningJobSpec& spec_;
  const BuiltinTrainer* trainer_;
  const bool continues_others_;               // trials go on from the checkpoints of others
  std::map<std::string, std::string> given_;  // first name -> the name that the spec gives
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckHyperparameters(const v1::TuningJobSpec& spec) {
  return HyperparameterChecker(spec).Run();
}

}  // namespace winnow
