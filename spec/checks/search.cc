#include "spec/checks/search.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "base/names.h"
#include "scheduler/space/space.h"
#include "spec/builtin_trainers.h"
#include "spec/initial_configurations.h"
#include "spec/search_spec.h"
#include "spec/strategy.h"
#include "spec/values.h"
#include "spec/violations.h"

namespace winnow {
namespace {

constexpr size_t kLongestName = 128;  // of a job's id or a study
constexpr char kPruner[] = "pruner.";
constexpr int64_t kMostRepeats = 100;

// A setting of a pruner's block, and the kinds that use it.
struct PrunerSetting {
  const char* name;
  std::set<PrunerKind> kinds;
};

const std::vector<PrunerSetting>& PrunerSettingsByKind() {
  using K = PrunerKind;
  static const std::set<K> rungs = {K::kHyperband, K::kAsha, K::kSuccessiveHalving, K::kFreezeThaw, K::kPbt};
  static const std::vector<PrunerSetting> settings = {
      {"min_resource", rungs},
      {"max_resource", rungs},
      {"reduction_factor", rungs},
      {"form", {K::kAsha}},
      {"brackets", {K::kAsha}},
      {"trials", {K::kSuccessiveHalving, K::kPbt}},
      {"stop_weak_brackets", {K::kHyperband}},
      {"weak_bracket_level", {K::kHyperband}},
      {"warm_up_resource", {K::kMedian, K::kLearningCurve}},
      {"warm_up_trials", {K::kMedian, K::kLearningCurve}},
      {"min_chance", {K::kLearningCurve, K::kHyperband, K::kAsha, K::kSuccessiveHalving, K::kPairedTest}},
  };
  return settings;
}

class SearchChecker {
 public:
  explicit SearchChecker(const v1::TuningJobSpec& spec) : spec_(spec), search_(ToSearchSpec(spec)) {
    for (const Parameter& parameter : search_.parameters) names_.push_back(parameter.name);
  }

  std::vector<Violation> Run() {
    Strategies();
    Population();
    Sampler();
    Pruner();
    Repeats();
    for (int i = 0; i < spec_.parameters_size(); ++i) ConditionOf(i);
    for (int i = 0; i < spec_.parameters_size(); ++i) PriorOf(i);
    for (int i = 0; i < spec_.constraints_size(); ++i) ConstraintOf(i);
    Completion();
    ByStanding();
    WarmStart();
    if (spec_.use_portfolio() && FindBuiltinTrainer(spec_.trainer().builtin()) == nullptr) {
      Add("use_portfolio", "is true; expected a built-in trainer, which has starting configurations");
    }
    const std::vector<Violation> initial = CheckInitialConfigurations(spec_, search_);
    if (!initial.empty()) search_.initial.clear();
    AddUnrelated(Named(ValidateSearch(search_)), &violations_);
    const bool sound = std::none_of(violations_.begin(), violations_.end(),
                                    [](const Violation& v) { return v.field.rfind("parameters", 0) == 0; });
    if (sound) AddUnrelated(initial, &violations_);
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }

  // As the user wrote it: HYPERBAND without a pruner's block has its numbers in the block of its own name.
  std::vector<Violation> Named(std::vector<Violation> found) const {
    if (search_.pruner.kind == PrunerKind::kLearningCurve && !spec_.pruner().has_min_chance()) {
      for (Violation& violation : found) {
        if (violation.field == "pruner.min_chance") violation.field = "pruner.kind";  // whose default it is
      }
    }
    if (search_.pruner.kind != PrunerKind::kHyperband || spec_.has_pruner()) return found;
    const size_t length = std::string(kPruner).size();
    for (Violation& violation : found) {
      for (std::string* text : {&violation.field, &violation.description}) {
        for (size_t at = text->find(kPruner); at != std::string::npos; at = text->find(kPruner)) {
          text->replace(at, length, "hyperband.");
        }
      }
    }
    return found;
  }

  // Numbers that no name stands for; a job file cannot hold them, a request can.
  template <class Enum>
  void Known(const std::string& at, Enum value) {
    const auto* type = google::protobuf::GetEnumDescriptor<Enum>();
    if (type->FindValueByNumber(value) != nullptr) return;
    std::vector<std::string> names;
    for (int i = 1; i < type->value_count(); ++i) names.push_back(type->value(i)->name());
    Add(at, fmt::format("is {}; expected one of {}", static_cast<int>(value), Joined(names)));
  }

  void Strategies() {
    Known("strategy", spec_.strategy());
    if (!spec_.has_hyperband()) return;
    const bool other_kind = spec_.pruner().kind() != v1::PrunerSpec::KIND_UNSPECIFIED;
    if (spec_.has_pruner()) {
      Add("hyperband",
          fmt::format("is given beside pruner{}; expected one of the two: hyperband is short for pruner "
                      "{{kind: HYPERBAND}}",
                      other_kind ? " {kind: " + KindName(search_.pruner.kind) + "}" : ""));
    } else if (search_.pruner.kind != PrunerKind::kHyperband) {
      Add("hyperband",
          fmt::format("is given under strategy {0}; expected strategy HYPERBAND or BOHB, or pruner {{kind: "
                      "HYPERBAND}} to put it in the place of {0}'s pruner",
                      v1::Strategy_Name(spec_.strategy())));
    }
  }

  void Population() {
    if (!TraitsOf(search_.pruner.kind).population || !spec_.trainer().external()) return;
    Add("pruner.kind",
        "is PBT, whose trials go on from each other's checkpoints; expected a trainer that workers run, "
        "because "
        "the checkpoints of an external job are at its clients");
  }

  void Sampler() {
    const v1::SamplerSpec& sampler = spec_.sampler();
    Known("sampler.kind", sampler.kind());
    const SamplerKind kind = search_.sampler.kind;
    if (sampler.startup_trials() != 0 && kind != SamplerKind::kGp && kind != SamplerKind::kTpe) {
      Add("sampler.startup_trials", fmt::format("is {}; the {} sampler has none, expected it with GP or TPE",
                                                sampler.startup_trials(), KindName(kind)));
    }
    const std::map<std::string, int64_t> points(sampler.grid_points().begin(), sampler.grid_points().end());
    if (!points.empty() && kind != SamplerKind::kGrid) {
      return Add("sampler.grid_points",
                 "is given; the " + KindName(kind) + " sampler has none, expected it with GRID");
    }
    for (const auto& [name, number] : points) {
      const std::string at = "sampler.grid_points." + name;
      const Parameter* parameter = Find(at, name);
      if (parameter == nullptr) continue;
      if (!TakesGridPoints(parameter->range)) {
        Add(at,
            fmt::format("is {}; all values of {} are tried, expected a continuous or a wide integer range",
                        number, name));
      } else if (number < 1) {
        Add(at, fmt::format("is {}; expected at least 1", number));
      }
    }
  }

  void Pruner() {
    if (!spec_.has_pruner()) return;
    const v1::PrunerSpec& pruner = spec_.pruner();
    Known("pruner.kind", pruner.kind());
    Known("pruner.form", pruner.form());
    std::vector<const google::protobuf::FieldDescriptor*> given;
    pruner.GetReflection()->ListFields(pruner, &given);
    for (const auto* field : given) {
      for (const PrunerSetting& setting : PrunerSettingsByKind()) {
        if (field->name() != setting.name || setting.kinds.count(search_.pruner.kind) > 0) continue;
        std::vector<std::string> kinds;
        for (const PrunerKind kind : setting.kinds) kinds.push_back(KindName(kind));
        Add(kPruner + field->name(), "is given; the " + KindName(search_.pruner.kind) +
                                         " pruner does not use it, expected it with " + Joined(kinds));
      }
    }
  }

  void Repeats() {
    const bool tests = search_.pruner.kind == PrunerKind::kPairedTest;
    if (!spec_.has_repeats()) {
      if (tests) Add("pruner.kind", "is PAIRED_TEST without repeats; expected repeats, or another pruner");
      return;
    }
    const v1::RepeatsSpec& repeats = spec_.repeats();
    if ((repeats.seeds() != 0) == (repeats.folds() != 0)) {
      Add("repeats", fmt::format("has {}; expected one of the two",
                                 repeats.seeds() != 0 ? "both seeds and folds" : "neither seeds nor folds"));
      return;
    }
    const char* const name = repeats.seeds() != 0 ? "repeats.seeds" : "repeats.folds";
    const int64_t count = repeats.seeds() != 0 ? repeats.seeds() : repeats.folds();
    if (count < 2 || count > kMostRepeats)
      return Add(name, fmt::format("is {}; expected 2 to {}", count, kMostRepeats));
    if (repeats.folds() != 0 && !spec_.trainer().builtin().empty()) {
      Add("repeats.folds",
          "is given with a built-in trainer, which knows no folds; expected repeats.seeds, or a command that "
          "reads WINNOW_FOLD");
    }
    if (!tests) {
      Add("repeats",
          fmt::format("are given with the {} pruner; expected strategy RANDOM, GRID or BAYESIAN, or "
                      "a sampler alone: PAIRED_TEST stops trials between their repeats",
                      KindName(search_.pruner.kind)));
    }
    if (search_.ranks_by_standing())
      Add("repeats", "are given with objectives or metric_constraints; expected one objective alone");
    if (spec_.limits().max_trial_resource() != 0) {
      Add("limits.max_trial_resource",
          fmt::format(
              "is {} beside repeats; expected none, because each repeat trains to the program's own end",
              spec_.limits().max_trial_resource()));
    }
  }

  const Parameter* Find(const std::string& at, const std::string& name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) return &search_.parameters[static_cast<size_t>(found - names_.begin())];
    Add(at, Quoted(name) + " is not a tuned hyperparameter" + DidYouMean(name, names_));
    return nullptr;
  }

  void ConditionOf(int index) {
    if (!spec_.parameters(index).has_condition()) return;
    const v1::Condition& condition = spec_.parameters(index).condition();
    const std::string at = fmt::format("parameters[{}].condition", index);
    if (condition.parameter().empty()) {
      return Add(at + ".parameter", "is missing; expected the name of an earlier hyperparameter");
    }
    const Parameter* parent = Find(at + ".parameter", condition.parameter());
    if (parent == nullptr) return;
    for (int v = 0; v < condition.values_size(); ++v) {
      if (ReadValue(parent->range, condition.values(v)))
        continue;  // whether it is inside, ValidateSearch says
      Add(fmt::format("{}.values[{}]", at, v),
          "is " + Quoted(condition.values(v)) + "; " + parent->name + " is " + ExpectedValue(parent->range));
    }
  }

  void PriorOf(int index) {
    if (!spec_.parameters(index).has_prior()) return;
    const v1::ParameterPrior& prior = spec_.parameters(index).prior();
    const Parameter& parameter = search_.parameters[static_cast<size_t>(index)];
    const std::string at = fmt::format("parameters[{}].prior.", index);
    Known(at + "confidence", prior.confidence());
    if (parameter.prior) return;  // whether it is inside, ValidateSearch says
    const std::string is = prior.value().empty() ? "is missing" : "is " + Quoted(prior.value());
    Add(at + "value", is + "; expected " + ExpectedValue(parameter.range));
  }

  void ConstraintOf(int index) {
    const v1::LinearConstraint& constraint = spec_.constraints(index);
    const std::string at = fmt::format("constraints[{}]", index);
    if (constraint.coefficients().empty()) {
      Add(at + ".coefficients", "is empty; expected a coefficient for at least one hyperparameter");
    }
    const std::map<std::string, double> sorted(constraint.coefficients().begin(),
                                               constraint.coefficients().end());
    for (const auto& [name, coefficient] : sorted) Find(at + ".coefficients." + name, name);
    if (!constraint.has_min() && !constraint.has_max()) Add(at, "has no bound; expected min, max or both");
    for (const auto& [name, given, bound] : {std::tuple("min", constraint.has_min(), constraint.min()),
                                             std::tuple("max", constraint.has_max(), constraint.max())}) {
      if (given && !std::isfinite(bound)) {
        Add(at + "." + name, "is " + DoubleToString(bound) + "; expected a finite number, or none");
      }
    }
  }

  void Completion() {
    const v1::CompletionSpec& completion = spec_.completion();
    if (completion.has_no_improvement_tolerance() && completion.no_improvement_trials() == 0) {
      Add("completion.no_improvement_tolerance",
          "is given without no_improvement_trials; expected how many trials it is about");
    }
  }

  // What has no sense where trials are not ranked by one number.
  void ByStanding() {
    if (!search_.ranks_by_standing()) return;
    const std::string with = search_.has_several_objectives() ? "objectives" : "metric_constraints";
    if (spec_.pruner().stop_weak_brackets())
      Add("pruner.stop_weak_brackets", "is true; expected false, or none, with " + with);
    if (spec_.pruner().weak_bracket_level() != 0) {
      Add("pruner.weak_bracket_level",
          "is " + DoubleToString(spec_.pruner().weak_bracket_level()) + "; expected none with " + with);
    }
    if (spec_.has_warm_start())
      Add("warm_start", "is given; its results have one objective, expected none with " + with);
  }

  void WarmStart() {
    const v1::WarmStartSpec& warm = spec_.warm_start();
    std::set<std::string> seen;
    const auto check = [&](const std::string& at, const std::string& text, const char* what) {
      if (text.empty()) return Add(at, std::string("is empty; expected ") + what);
      if (!seen.insert(what + text).second) Add(at, Quoted(text) + " is given twice; expected once");
    };
    for (int i = 0; i < warm.jobs_size(); ++i) {
      check(fmt::format("warm_start.jobs[{}]", i), warm.jobs(i), "the id of a job");
      if (warm.jobs(i).size() > kLongestName) {
        Add(fmt::format("warm_start.jobs[{}]", i),
            fmt::format("has {} characters; expected the id of a job, at most {}", warm.jobs(i).size(),
                        kLongestName));
      }
    }
    for (int i = 0; i < warm.csv_files_size(); ++i) {
      check(fmt::format("warm_start.csv_files[{}]", i), warm.csv_files(i), "a table's file");
    }
    for (int i = 0; i < warm.optuna_studies_size(); ++i) {
      const v1::OptunaStudy& study = warm.optuna_studies(i);
      const std::string at = fmt::format("warm_start.optuna_studies[{}]", i);
      if (study.file().empty()) {
        Add(at + ".file", "is missing; expected an SQLite file of Optuna's");
      } else {
        check(at, study.file() + "\n" + study.study(), "a study");
      }
    }
  }

  const v1::TuningJobSpec& spec_;
  SearchSpec search_;
  std::vector<std::string> names_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckSearch(const v1::TuningJobSpec& spec) { return SearchChecker(spec).Run(); }

}  // namespace winnow
