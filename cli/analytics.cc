#include "cli/analytics.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cli/format.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/text.h"

namespace winnow::cli {
namespace {

const std::vector<std::string>& FixedColumns() {
  static const std::vector<std::string> columns = {
      "trial",      "state",    "objective",       "best_objective",   "best_resource", "resource",
      "start_time", "end_time", "elapsed_seconds", "billable_seconds", "stop_reason"};
  return columns;
}

std::string CsvLine(const std::vector<std::string>& fields) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) line += (i > 0 ? "," : "") + CsvField(fields[i]);
  return line + "\n";
}

std::string AnalyticsCsv(const v1::GetAnalyticsResponse& answer) {
  const auto& fixed = FixedColumns();
  std::vector<std::string> titles = {"trial", "state"};
  for (const auto& parameter : answer.job().spec().parameters()) {
    const bool taken = std::find(fixed.begin(), fixed.end(), parameter.name()) != fixed.end();
    titles.push_back(taken ? "hyperparameter." + parameter.name() : parameter.name());
  }
  titles.insert(titles.end(), fixed.begin() + 2, fixed.end());
  std::string csv = CsvLine(titles);
  for (const auto& trial : answer.trials()) {
    std::vector<std::string> fields = {fmt::format("{}", trial.number()), StateText(trial.state())};
    for (int i = 0; i < answer.job().spec().parameters_size(); ++i) {
      fields.push_back(i < trial.hyperparameters_size() ? ValueText(trial.hyperparameters(i), true) : "");
    }
    const bool ended = trial.has_start_time() && trial.has_end_time();
    fields.insert(
        fields.end(),
        {trial.has_objective() ? fmt::format("{}", trial.objective()) : "",
         trial.has_best_objective() ? fmt::format("{}", trial.best_objective()) : "",
         trial.has_best_objective() ? fmt::format("{}", trial.best_resource()) : "",
         fmt::format("{}", trial.trained_resource()), UtcText(trial.start_time()), UtcText(trial.end_time()),
         ended ? fmt::format("{:.3f}", SecondsBetween(trial.start_time(), trial.end_time())) : "",
         fmt::format("{:.3f}", trial.billable_node_seconds()), trial.state_reason()});
    csv += CsvLine(fields);
  }
  return csv;
}

std::string AnalyticsText(const Session& session, const v1::GetAnalyticsResponse& answer) {
  using Align = Table::Align;
  std::vector<Table::Column> columns = {{"TRIAL", Align::kRight}, {"STATE"}};
  for (const auto& parameter : answer.job().spec().parameters()) {
    columns.push_back({Clean(parameter.name()), parameter.has_categorical() ? Align::kLeft : Align::kRight});
  }
  for (const char* title : {"OBJECTIVE", "UNITS", "START", "END", "ELAPSED", "BILLABLE"}) {
    columns.push_back({title, Align::kRight});
  }
  columns.push_back({"REASON"});
  Table table(std::move(columns));
  for (const auto& trial : answer.trials()) {
    std::vector<Table::Cell> row = {{Thousands(trial.number())},
                                    {StateText(trial.state()), StateStyle(trial.state())}};
    for (int i = 0; i < answer.job().spec().parameters_size(); ++i) {
      row.emplace_back(i < trial.hyperparameters_size() ? ValueText(trial.hyperparameters(i)) : "");
    }
    const bool ended = trial.has_start_time() && trial.has_end_time();
    row.insert(row.end(), {{trial.has_objective() ? NumberText(trial.objective()) : "–"},
                           {Thousands(trial.trained_resource())},
                           {ClockText(trial.start_time())},
                           {ClockText(trial.end_time())},
                           {ended ? DurationText(SecondsBetween(trial.start_time(), trial.end_time())) : ""},
                           {DurationText(trial.billable_node_seconds())},
                           {trial.state_reason()}});
    table.Add(std::move(row));
  }
  const v1::JobSpend& spend = answer.job().spend();
  return table.Text(session.out) +
         fmt::format("\n{}: {}\ntrained {}; {} elapsed, {} training, {} billable\n",
                     Count(answer.trials_size(), "trial"), CountsText(answer.job().trial_counts()),
                     ResourceText(answer.job()), DurationText(spend.elapsed_seconds()),
                     DurationText(spend.training_seconds()), DurationText(spend.billable_node_seconds()));
}

// A row per trial and resource level, a column per metric.
std::string CurvesText(const Session& session, const v1::QueryMetricsResponse& answer) {
  using Align = Table::Align;
  std::set<std::string> metrics;
  std::map<std::pair<int64_t, int64_t>, std::map<std::string, double>> rows;
  for (const auto& point : answer.points()) {
    metrics.insert(point.metric());
    rows[{point.trial(), point.resource()}].emplace(point.metric(), point.value());
  }
  std::vector<Table::Column> columns = {{"TRIAL", Align::kRight}, {"UNITS", Align::kRight}};
  for (const std::string& metric : metrics) columns.push_back({Clean(metric), Align::kRight});
  Table table(std::move(columns));
  int64_t trial = 0;
  for (const auto& [key, values] : rows) {
    std::vector<Table::Cell> row = {{key.first == trial ? "" : Thousands(key.first)},
                                    {Thousands(key.second)}};
    trial = key.first;
    for (const std::string& metric : metrics) {
      const auto found = values.find(metric);
      row.emplace_back(found == values.end() ? "" : NumberText(found->second));
    }
    table.Add(std::move(row));
  }
  return table.Text(session.out);
}

std::string CurvesCsv(const v1::QueryMetricsResponse& answer) {
  std::string csv = "trial,metric,resource,value,attempt,time\n";
  for (const auto& point : answer.points()) {
    csv += CsvLine({fmt::format("{}", point.trial()), point.metric(), fmt::format("{}", point.resource()),
                    fmt::format("{}", point.value()), fmt::format("{}", point.attempt()),
                    UtcText(point.time())});
  }
  return csv;
}

}  // namespace

Exit ShowAnalytics(Session& session, const std::string& job) {
  const auto answer = session.client().Analytics(job);
  if (!answer.ok()) return answer.status();
  switch (session.output) {
    case Output::kJson:
      session.out.Print(ToJson(*answer));
      break;
    case Output::kCsv:
      session.out.Print(AnalyticsCsv(*answer));
      break;
    case Output::kText:
      session.out.Print(AnalyticsText(session, *answer));
      break;
  }
  return kSuccess;
}

Exit ShowMetrics(Session& session, const MetricsOptions& options) {
  v1::QueryMetricsRequest request;
  request.set_job_id(options.job);
  for (const int64_t trial : options.trials) request.add_trials(trial);
  for (const std::string& metric : options.metrics) request.add_metrics(metric);
  const auto answer = session.client().Metrics(request);
  if (!answer.ok()) return answer.status();
  std::set<int64_t> told;
  for (const auto& point : answer->points()) told.insert(point.trial());
  for (const int64_t trial : options.trials) {
    if (told.contains(trial)) continue;
    const auto known = session.client().DescribeTrial(options.job, trial);
    if (!known.ok()) return known.status();
  }
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(*answer));
  } else if (session.output == Output::kCsv) {
    session.out.Print(CurvesCsv(*answer));
  } else if (answer->points().empty()) {
    session.out.Print("No such values have been reported\n");
  } else {
    session.out.Print(CurvesText(session, *answer));
  }
  return kSuccess;
}

}  // namespace winnow::cli
