#include <optional>

#include "cli/imports/imported_job.h"

namespace winnow::cli::imports {
namespace {

ImportedJob Begin(const std::string& name, const std::string& metric, const std::string& goal) {
  ImportedJob imported;
  imported.job["name"] = name;
  OrderedJson& trainer = imported.job["trainer"];
  trainer["command"] = {"python3", "train.py"};
  trainer["metrics"] = OrderedJson::array();
  trainer["metrics"].push_back({{"name", metric}});
  imported.job["parameters"] = OrderedJson::array();
  imported.job["objective"] = {{"metric", metric}, {"goal", goal}};
  imported.LeaveOut(
      "the objective",
      "is a function there; write a program that prints the metric as JSON lines, or ask and tell");
  return imported;
}

struct SpaceRange {
  bool integer = false, log = false;
  double least = 0, most = 0;
  std::optional<double> step;
};

// Adds the range, or its values if they are few. `step_name`: of the step in the space, for where it is left
// out.
void AddSpaceRange(const std::string& name, const SpaceRange& range, const std::string& step_name,
                   ImportedJob& imported) {
  OrderedJson& parameters = imported.job["parameters"];
  const bool stepped = range.step && !(range.integer && *range.step == 1);
  if (stepped && !range.log) {
    const OrderedJson values = SteppedValues(range.least, range.most, *range.step);
    if (!values.empty()) {
      parameters.push_back(ListParameter(name, values));
      return;
    }
  }
  if (stepped) imported.LeaveOut(step_name, "all values between are tried");
  parameters.push_back(NumberParameter(name, range.integer, range.least, range.most, range.log ? "LOG" : ""));
}

// {"domain": "loguniform", "lower": …, "upper": …, "q": …}. False: it is none that is offered.
bool AddRayDomain(const std::string& name, const OrderedJson& given, ImportedJob& imported) {
  const std::string domain = TextOf(given, "domain");
  OrderedJson& parameters = imported.job["parameters"];
  if (domain == "choice" || domain == "grid_search") {
    const OrderedJson& values = MemberOf(given, domain == "choice" ? "categories" : "values");
    if (!values.is_array() || values.empty()) return false;
    parameters.push_back(ListParameter(name, values));
    return true;
  }
  SpaceRange range;
  if (!NumberOf(MemberOf(given, "lower"), range.least) || !NumberOf(MemberOf(given, "upper"), range.most))
    return false;
  range.integer = domain.ends_with("randint");
  range.log = domain.find("log") != std::string::npos;
  if (!range.integer && domain != "uniform" && domain != "quniform" && !range.log) return false;
  const bool quantised = domain.starts_with("q");
  if (double step = 0; quantised && NumberOf(MemberOf(given, "q"), step)) range.step = step;
  if (range.integer && !quantised) range.most -= 1;  // randint leaves its upper end out
  AddSpaceRange(name, range, "param_space." + name + ".q", imported);
  return true;
}

// What optuna.distributions.distribution_to_json writes.
bool AddOptunaDistribution(const std::string& name, const OrderedJson& given, ImportedJob& imported) {
  const std::string kind = TextOf(given, "name");
  const OrderedJson& attributes = MemberOf(given, "attributes");
  OrderedJson& parameters = imported.job["parameters"];
  if (kind == "CategoricalDistribution") {
    const OrderedJson& choices = MemberOf(attributes, "choices");
    if (!choices.is_array() || choices.empty()) return false;
    parameters.push_back(ListParameter(name, choices));
    return true;
  }
  SpaceRange range;
  if (!NumberOf(MemberOf(attributes, "low"), range.least) ||
      !NumberOf(MemberOf(attributes, "high"), range.most))
    return false;
  range.integer = kind.starts_with("Int");
  if (!range.integer && kind != "FloatDistribution" && kind != "UniformDistribution" &&
      kind != "LogUniformDistribution" && kind != "DiscreteUniformDistribution")
    return false;
  const OrderedJson& said = MemberOf(attributes, "log");
  range.log = kind.find("LogUniform") != std::string::npos || (said.is_boolean() && said.get<bool>());
  if (double step = 0; NumberOf(MemberOf(attributes, attributes.contains("q") ? "q" : "step"), step))
    range.step = step;
  AddSpaceRange(name, range, name + ".step", imported);
  return true;
}

}  // namespace

absl::StatusOr<ImportedJob> ImportRaySpace(const OrderedJson& space) {
  const OrderedJson& params = MemberOf(space, "param_space");
  if (!params.is_object() || params.empty())
    return absl::InvalidArgumentError(
        "it has no param_space; expected {\"metric\", \"mode\", \"num_samples\", \"param_space\": {\"lr\": "
        "{\"domain\": "
        "\"loguniform\", \"lower\": 0.001, \"upper\": 0.1}}}");
  const std::string metric = TextOf(space, "metric").empty() ? "loss" : TextOf(space, "metric");
  const absl::StatusOr<std::string> goal = GoalOf(space, "mode", "mode");
  if (!goal.ok()) return goal.status();
  ImportedJob imported = Begin("ray", metric, *goal);
  if (TextOf(space, "mode").empty()) imported.LeaveOut("mode", "is missing; the goal is MINIMIZE");
  for (const auto& [name, given] : params.items()) {
    if (!given.is_object()) {
      imported.AddStatic(name, given, "param_space." + name);
    } else if (!AddRayDomain(name, given, imported)) {
      imported.LeaveOut("param_space." + name, given.dump() + " is not offered; write a range");
    }
  }
  double number = 0;
  if (NumberOf(MemberOf(space, "num_samples"), number) && number > 0)
    imported.job["limits"]["max_trials"] = WholeOf(number);
  if (NumberOf(MemberOf(space, "max_concurrent_trials"), number))
    imported.job["limits"]["max_parallel_trials"] = WholeOf(number);
  imported.LeaveOutOthers(space, {"metric", "mode", "num_samples", "param_space", "max_concurrent_trials"},
                          "", "is not offered; see strategy, sampler and pruner");
  return imported;
}

absl::StatusOr<ImportedJob> ImportOptunaSpace(const OrderedJson& space) {
  const OrderedJson& distributions = MemberOf(space, "distributions");
  if (!distributions.is_object() || distributions.empty())
    return absl::InvalidArgumentError(
        "it has no distributions; expected {\"direction\", \"n_trials\", \"distributions\": {\"lr\": what "
        "optuna.distributions.distribution_to_json writes}}");
  const absl::StatusOr<std::string> goal = GoalOf(space, "direction", "direction");
  if (!goal.ok()) return goal.status();
  ImportedJob imported = Begin(TextOf(space, "study_name").empty() ? "optuna" : TextOf(space, "study_name"),
                               TextOf(space, "metric").empty() ? "value" : TextOf(space, "metric"), *goal);
  if (TextOf(space, "direction").empty()) imported.LeaveOut("direction", "is missing; the goal is MINIMIZE");
  for (const auto& [name, given] : distributions.items()) {
    const OrderedJson distribution =
        given.is_string() ? OrderedJson::parse(given.get<std::string>(), nullptr, false) : given;
    if (!distribution.is_object() || !AddOptunaDistribution(name, distribution, imported))
      imported.LeaveOut("distributions." + name, "it is not known; write a range");
  }
  double number = 0;
  if (NumberOf(MemberOf(space, "n_trials"), number)) imported.job["limits"]["max_trials"] = WholeOf(number);
  imported.LeaveOutOthers(space, {"study_name", "direction", "n_trials", "distributions", "metric"}, "",
                          "is not offered; see strategy, sampler and pruner");
  return imported;
}

}  // namespace winnow::cli::imports
