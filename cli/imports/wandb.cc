#include <algorithm>
#include <cmath>

#include "cli/imports/imported_job.h"

namespace winnow::cli::imports {
namespace {

// A range, however its distribution is called. False: it is none that is offered.
bool AddRange(const std::string& name, const OrderedJson& given, const std::string& distribution,
              ImportedJob& imported) {
  double least = 0, most = 0, step = 1;
  if (!NumberOf(MemberOf(given, "min"), least) || !NumberOf(MemberOf(given, "max"), most)) return false;
  OrderedJson& parameters = imported.job["parameters"];
  const bool whole = MemberOf(given, "min").is_number_integer() && MemberOf(given, "max").is_number_integer();
  if (distribution.starts_with("q_")) {
    if (MemberOf(given, "q").is_number()) step = MemberOf(given, "q").get<double>();
    const OrderedJson values = SteppedValues(least, most, step);
    if (distribution == "q_uniform" && !values.empty()) {
      parameters.push_back(ListParameter(name, values));
      return true;
    }
    imported.LeaveOut("parameters." + name + ".q", "all values between are tried");
  }
  if (distribution.empty() || distribution == "int_uniform" || distribution == "uniform" ||
      distribution == "q_uniform") {
    const bool integer = distribution == "int_uniform" || (distribution.empty() && whole);
    parameters.push_back(NumberParameter(name, integer, least, most, ""));
  } else if (distribution == "log_uniform_values" || distribution == "q_log_uniform_values") {
    parameters.push_back(NumberParameter(name, false, least, most, "LOG"));
  } else if (distribution == "log_uniform" || distribution == "q_log_uniform") {  // the ends are exponents
    if (!std::isfinite(std::exp(least)) || !std::isfinite(std::exp(most))) return false;
    parameters.push_back(NumberParameter(name, false, std::exp(least), std::exp(most), "LOG"));
  } else {
    return false;
  }
  return true;
}

void AddWandbParameters(const OrderedJson& given, const std::string& prefix, ImportedJob& imported) {
  if (!given.is_object()) return;
  for (const auto& [own, parameter] : given.items()) {
    const std::string name = prefix + own;
    if (!parameter.is_object()) {
      imported.LeaveOut("parameters." + name, "it is no object");
    } else if (parameter.contains("parameters")) {
      imported.LeaveOut("parameters." + name, "nested parameters are passed as " + name + ".NAME");
      AddWandbParameters(parameter["parameters"], name + ".", imported);
    } else if (parameter.contains("value")) {
      imported.AddStatic(name, parameter["value"], "parameters." + name);
    } else if (MemberOf(parameter, "values").is_array()) {
      imported.job["parameters"].push_back(ListParameter(name, parameter["values"]));
      if (parameter.contains("probabilities"))
        imported.LeaveOut("parameters." + name + ".probabilities", "all values are equally probable");
    } else if (!AddRange(name, parameter, TextOf(parameter, "distribution"), imported)) {
      imported.LeaveOut("parameters." + name, "its distribution is not offered; write a range");
    }
  }
}

OrderedJson CommandOf(const OrderedJson& sweep, ImportedJob& imported) {
  std::string program = TextOf(sweep, "program");
  if (program.empty()) {
    program = "train.py";
    imported.LeaveOut("program", "is missing; the command has to be written");
  }
  if (!MemberOf(sweep, "command").is_array())
    return program.ends_with(".py") ? OrderedJson{"python3", program} : OrderedJson{program};
  OrderedJson command = OrderedJson::array();
  for (const OrderedJson& each : sweep["command"]) {
    const std::string word = each.is_string() ? each.get<std::string>() : each.dump();
    if (word == "${env}" || word == "${args}") continue;  // arguments are appended by themselves
    if (word == "${interpreter}")
      command.push_back("python3");
    else if (word == "${program}")
      command.push_back(program);
    else if (word.starts_with("${"))
      imported.LeaveOut("command." + word, "arguments are passed as --name value, or by {{name}}");
    else
      command.push_back(word);
  }
  return command;
}

}  // namespace

absl::StatusOr<ImportedJob> ImportWandbSweep(const OrderedJson& sweep) {
  if (!MemberOf(sweep, "parameters").is_object() || !sweep.contains("parameters") ||
      !sweep.contains("method"))
    return absl::InvalidArgumentError("it is no sweep of W&B; expected method and parameters");
  ImportedJob imported;
  OrderedJson& job = imported.job;
  const OrderedJson& metric = MemberOf(sweep, "metric");
  const absl::StatusOr<std::string> goal = GoalOf(metric, "goal", "metric.goal");
  if (!goal.ok()) return goal.status();
  const std::string metric_name = TextOf(metric, "name").empty() ? "loss" : TextOf(metric, "name");
  job["name"] = TextOf(sweep, "name").empty() ? "sweep" : TextOf(sweep, "name");
  job["trainer"]["command"] = CommandOf(sweep, imported);
  job["trainer"]["metrics"] = OrderedJson::array();
  job["trainer"]["metrics"].push_back({{"name", metric_name}});
  imported.LeaveOut("wandb.log",
                    "print each metric as a JSON line, such as {\"step\": 1, \"" + metric_name + "\": 0.5}");
  job["parameters"] = OrderedJson::array();
  AddWandbParameters(sweep["parameters"], "", imported);
  job["objective"] = {{"metric", metric_name}, {"goal", *goal}};
  double number = 0;
  if (NumberOf(MemberOf(metric, "target"), number)) job["completion"]["target_objective"] = number;
  const std::string method = TextOf(sweep, "method");
  job["strategy"] = method == "grid" ? "GRID" : method == "random" ? "RANDOM" : "BAYESIAN";
  if (NumberOf(MemberOf(sweep, "run_cap"), number)) job["limits"]["max_trials"] = WholeOf(number);
  const OrderedJson& early = MemberOf(sweep, "early_terminate");
  if (TextOf(early, "type") == "hyperband" && method != "grid") {
    double most = 0;
    if (NumberOf(MemberOf(early, "max_iter"), most)) {
      job["strategy"] = "HYPERBAND";
      job["hyperband"] = {{"max_resource", WholeOf(most)}};
      if (NumberOf(MemberOf(early, "eta"), number))
        job["hyperband"]["reduction_factor"] = std::lround(number);
    } else {
      job["pruner"] = {{"kind", "MEDIAN"}};
      imported.LeaveOut("early_terminate", "without max_iter it is the pruner MEDIAN");
    }
    imported.LeaveOutOthers(early, {"type", "max_iter", "eta"}, "early_terminate",
                            "brackets follow from max_resource and eta");
  } else if (!early.empty()) {
    imported.LeaveOut("early_terminate", "is not offered with this method");
  }
  imported.LeaveOutOthers(
      sweep, {"name", "program", "method", "metric", "parameters", "command", "run_cap", "early_terminate"},
      "", "has no meaning here");
  return imported;
}

}  // namespace winnow::cli::imports
