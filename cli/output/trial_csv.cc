#include "cli/output/trial_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cli/output/format.h"
#include "cli/output/progress.h"

namespace winnow::cli {
namespace {

// The columns after trial, state and the hyperparameters.
std::vector<std::string> ResultColumns(const v1::TuningJobSpec& spec) {
  std::vector<std::string> columns = {
      "objective",   "best_objective", "best_resource", "value",           "value_resource",
      "resource",    "start_time",     "end_time",      "elapsed_seconds", "billable_seconds",
      "stop_reason", "tags",           "note"};
  for (const std::string& metric : StandingMetrics(spec)) columns.push_back("metric." + metric);
  if (spec.metric_constraints_size() > 0) columns.push_back("violation");
  return columns;
}

std::string Row(const v1::TuningJobSpec& spec, const v1::Trial& trial) {
  const auto number = [](bool known, auto value) { return known ? fmt::format("{}", value) : ""; };
  std::vector<std::string> fields = {fmt::format("{}", trial.number()), StateText(trial.state())};
  for (const auto& parameter : spec.parameters())
    fields.push_back(CsvField(ValueText(trial, parameter.name(), true)));
  const bool ended = trial.has_start_time() && trial.has_end_time();
  fields.insert(
      fields.end(),
      {number(trial.has_objective(), trial.objective()),
       number(trial.has_best_objective(), trial.best_objective()),
       number(trial.has_best_objective(), trial.best_resource()), number(trial.has_value(), trial.value()),
       number(trial.has_value(), trial.value_resource()), fmt::format("{}", trial.trained_resource()),
       UtcText(trial.start_time()), UtcText(trial.end_time()),
       ended ? fmt::format("{:.3f}", SecondsBetween(trial.start_time(), trial.end_time())) : "",
       fmt::format("{:.3f}", trial.billable_node_seconds()), CsvField(trial.state_reason()),
       CsvField(fmt::format("{}", fmt::join(trial.annotation().tags(), " "))),
       CsvField(trial.annotation().note())});
  for (const std::string& metric : StandingMetrics(spec)) {
    const std::optional<double> value = NewestValue(trial, metric);
    fields.push_back(number(value.has_value(), value.value_or(0)));
  }
  if (spec.metric_constraints_size() > 0) fields.push_back(fmt::format("{}", trial.violation()));
  return CsvLine(fields);
}

}  // namespace

std::string TrialsCsvHeader(const v1::TuningJobSpec& spec) {
  const std::vector<std::string> results = ResultColumns(spec);
  std::vector<std::string> titles = {"trial", "state"};
  for (const auto& parameter : spec.parameters()) {
    const std::string& name = parameter.name();
    const bool taken = name == "trial" || name == "state" ||
                       std::find(results.begin(), results.end(), name) != results.end();
    titles.push_back(CsvField(taken ? "hyperparameter." + name : name));
  }
  for (const std::string& result : results) titles.push_back(CsvField(result));
  return CsvLine(titles);
}

std::string TrialsCsvRows(const v1::TuningJobSpec& spec,
                          const google::protobuf::RepeatedPtrField<v1::Trial>& trials) {
  std::string rows;
  for (const v1::Trial& trial : trials) rows += Row(spec, trial);
  return rows;
}

}  // namespace winnow::cli
