#include <fmt/format.h>

#include <map>

#include "absl/strings/str_replace.h"
#include "cli/imports/imported_job.h"

namespace winnow::cli::imports {
namespace {

// Katib's own format of metrics on standard output: "name=value", also with blanks. The name is a whole one:
// loss is not in val-loss=0.5.
constexpr char kMetricLine[] = R"((?:^|[^\w|-]){}\s*=\s*([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?))";

std::string Escaped(const std::string& name) {
  std::string escaped;
  for (const char c : name) {
    if (std::string(".+*?()|[]{}^$\\").find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void AddKatibParameter(const OrderedJson& given, ImportedJob& imported) {
  const std::string name = TextOf(given, "name");
  const std::string type = TextOf(given, "parameterType");
  const OrderedJson& space = MemberOf(given, "feasibleSpace");
  const std::string path = "parameters." + name;
  OrderedJson& parameters = imported.job["parameters"];
  double least = 0, most = 0, step = 0;
  if (type == "categorical" || type == "discrete") {
    OrderedJson values = OrderedJson::array();
    for (const OrderedJson& value : MemberOf(space, "list")) {
      double number = 0;
      if (type == "discrete" && NumberOf(value, number)) {
        values.push_back(number);
      } else {
        values.push_back(value.is_string() ? value : OrderedJson(value.dump()));
      }
    }
    parameters.push_back(ListParameter(name, values));
  } else if ((type == "int" || type == "double") && NumberOf(MemberOf(space, "min"), least) &&
             NumberOf(MemberOf(space, "max"), most)) {
    const bool stepped = NumberOf(MemberOf(space, "step"), step) && !(type == "int" && step == 1);
    const OrderedJson values = stepped ? SteppedValues(least, most, step) : OrderedJson::array();
    if (!values.empty()) return parameters.push_back(ListParameter(name, values));
    if (stepped)
      imported.LeaveOut(path + ".feasibleSpace.step",
                        "there are too many steps; all values between are tried");
    const std::string distribution = TextOf(space, "distribution");
    const bool log = distribution == "logUniform";
    if (!distribution.empty() && distribution != "uniform" && !log)
      imported.LeaveOut(path + ".feasibleSpace.distribution",
                        distribution + " is not offered; values are drawn evenly");
    parameters.push_back(NumberParameter(name, type == "int", least, most, log ? "LOG" : ""));
  } else {
    imported.LeaveOut(path, "its type or range is not known");
  }
}

void AddKatibProgram(const OrderedJson& spec, ImportedJob& imported) {
  const OrderedJson& given = MemberOf(spec, "trialTemplate");
  std::map<std::string, std::string> names;
  for (const OrderedJson& parameter : MemberOf(given, "trialParameters")) {
    const std::string name = TextOf(parameter, "name");
    const std::string reference = TextOf(parameter, "reference");
    if (reference.starts_with("${"))
      imported.LeaveOut("trialParameters." + name, "is no hyperparameter; take it out of the command");
    else
      names["${trialParameters." + name + "}"] = "{{" + reference + "}}";
  }
  const OrderedJson* pod = &MemberOf(given, "trialSpec");
  for (const char* inner : {"spec", "template", "spec"}) pod = &MemberOf(*pod, inner);
  const OrderedJson& containers = MemberOf(*pod, "containers");
  const std::string primary = TextOf(given, "primaryContainerName");
  OrderedJson& trainer = imported.job["trainer"];
  for (const OrderedJson& container : containers) {
    if (!primary.empty() && TextOf(container, "name") != primary) continue;
    trainer["command"] = OrderedJson::array();
    for (const char* list : {"command", "args"}) {
      for (const OrderedJson& word : MemberOf(container, list))
        trainer["command"].push_back(
            absl::StrReplaceAll(word.is_string() ? word.get<std::string>() : word.dump(), names));
    }
    trainer["container"] = {{"image", TextOf(container, "image")}};
    for (const OrderedJson& variable : MemberOf(container, "env")) {
      if (TextOf(variable, "value").find("${trialParameters.") != std::string::npos)
        imported.LeaveOut("env." + TextOf(variable, "name"), "hyperparameters are passed as arguments");
      else if (variable.contains("value"))
        trainer["environment"][TextOf(variable, "name")] = TextOf(variable, "value");
      else
        imported.LeaveOut("env." + TextOf(variable, "name"),
                          "its value is elsewhere in Kubernetes; see trainer.secrets");
    }
    imported.LeaveOutOthers(container, {"name", "image", "command", "args", "env"}, "container",
                            "say what each trial needs in cluster");
    return;
  }
  trainer["command"] = {"python3", "train.py"};
  imported.LeaveOut("trialTemplate", "it has no container of a job; trainer.command has to be written");
}

}  // namespace

absl::StatusOr<ImportedJob> ImportKatibExperiment(const OrderedJson& experiment) {
  const OrderedJson& spec = MemberOf(experiment, "spec");
  if (TextOf(experiment, "kind") != "Experiment" || !MemberOf(spec, "parameters").is_array())
    return absl::InvalidArgumentError(
        "it is no Experiment of Katib; expected kind: Experiment and spec.parameters");
  ImportedJob imported;
  OrderedJson& job = imported.job;
  const OrderedJson& objective = MemberOf(spec, "objective");
  const std::string metric = TextOf(objective, "objectiveMetricName");
  const absl::StatusOr<std::string> direction = GoalOf(objective, "type", "spec.objective.type");
  if (!direction.ok()) return direction.status();
  job["name"] = TextOf(MemberOf(experiment, "metadata"), "name");
  AddKatibProgram(spec, imported);
  job["trainer"]["metrics"] = OrderedJson::array();
  const auto add_metric = [&](const std::string& name) {
    job["trainer"]["metrics"].push_back({{"name", name}, {"regex", fmt::format(kMetricLine, Escaped(name))}});
  };
  add_metric(metric);
  for (const OrderedJson& other : MemberOf(objective, "additionalMetricNames")) {
    if (other.is_string()) add_metric(other.get<std::string>());
  }
  job["parameters"] = OrderedJson::array();
  for (const OrderedJson& parameter : spec["parameters"]) AddKatibParameter(parameter, imported);
  job["objective"] = {{"metric", metric}, {"goal", *direction}};
  imported.LeaveOutOthers(objective, {"type", "goal", "objectiveMetricName", "additionalMetricNames"},
                          "objective", "is not offered; see objective.value");
  double goal = 0;
  if (NumberOf(MemberOf(objective, "goal"), goal)) job["completion"]["target_objective"] = goal;
  const OrderedJson& algorithm = MemberOf(spec, "algorithm");
  const std::string name = TextOf(algorithm, "algorithmName");
  static const auto* const strategies = new std::map<std::string, std::string>{
      {"random", "RANDOM"},       {"grid", "GRID"},      {"bayesianoptimization", "BAYESIAN"},
      {"tpe", "BAYESIAN"},        {"cmaes", "BAYESIAN"}, {"multivariate-tpe", "BAYESIAN"},
      {"hyperband", "HYPERBAND"}, {"pbt", "PBT"}};
  const auto strategy = strategies->find(name);
  job["strategy"] = strategy == strategies->end() ? "BAYESIAN" : strategy->second;
  if (name == "tpe" || name == "multivariate-tpe") job["sampler"] = {{"kind", "TPE"}};
  if (strategy == strategies->end() || name == "cmaes")
    imported.LeaveOut("algorithm." + name, "is not offered; the strategy is BAYESIAN");
  if (!MemberOf(algorithm, "algorithmSettings").empty())
    imported.LeaveOut("algorithm.algorithmSettings",
                      "settings of algorithms differ; see sampler, pruner and hyperband");
  const std::string early = TextOf(MemberOf(spec, "earlyStopping"), "algorithmName");
  if (early == "medianstop")
    job["pruner"] = {{"kind", "MEDIAN"}};
  else if (!early.empty())
    imported.LeaveOut("earlyStopping." + early, "is not offered");
  double count = 0;
  if (NumberOf(MemberOf(spec, "maxTrialCount"), count)) job["limits"]["max_trials"] = WholeOf(count);
  if (NumberOf(MemberOf(spec, "parallelTrialCount"), count))
    job["limits"]["max_parallel_trials"] = WholeOf(count);
  const OrderedJson& collector = MemberOf(spec, "metricsCollectorSpec");
  const std::string kind = TextOf(MemberOf(collector, "collector"), "kind");
  if (!kind.empty() && kind != "StdOut")
    imported.LeaveOut("metricsCollectorSpec",
                      "metrics are read from standard output, or see trainer.metrics_file");
  imported.LeaveOutOthers(spec,
                          {"objective", "algorithm", "parameters", "earlyStopping", "maxTrialCount",
                           "parallelTrialCount", "trialTemplate", "metricsCollectorSpec"},
                          "", "is not offered");
  return imported;
}

}  // namespace winnow::cli::imports
