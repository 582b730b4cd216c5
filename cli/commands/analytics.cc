#include <fmt/core.h>

#include <map>
#include <set>
#include <utility>

#include "cli/commands/actions.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/output/trial_csv.h"

namespace winnow::cli {
namespace {

std::string AnalyticsText(const Session& session, const v1::GetAnalyticsResponse& answer) {
  using Align = Table::Align;
  std::vector<Table::Column> columns = {{"TRIAL", Align::kRight}, {"STATE"}};
  const v1::TuningJobSpec& spec = answer.job().spec();
  AddHyperparameters(spec, columns);
  if (!HasFront(spec)) columns.push_back({"OBJECTIVE", Align::kRight});
  AddStanding(spec, columns);
  columns.insert(columns.end(), {{"UNITS", Align::kRight, kDropEarly},
                                 {"START", Align::kRight, kDropEarly + 2},
                                 {"END", Align::kRight, kDropEarly + 1},
                                 {"ELAPSED", Align::kRight, kDropEarly + 3},
                                 {"BILLABLE", Align::kRight, kDropEarly + 4},
                                 {"REASON", Align::kLeft, kDropEarly - 1}});
  Table table(std::move(columns));
  for (const auto& trial : answer.trials()) {
    std::vector<Table::Cell> row = {{Thousands(trial.number())},
                                    {StateText(trial.state()), StateStyle(trial.state())}};
    for (const auto& parameter : spec.parameters()) {
      row.emplace_back(ValueText(trial, parameter.name()));
    }
    const bool ended = trial.has_start_time() && trial.has_end_time();
    if (!HasFront(spec)) {
      const bool counts = trial.has_value();
      row.push_back({counts                  ? NumberText(trial.value())
                     : trial.has_objective() ? NumberText(trial.objective())
                                             : "–"});
    }
    AddStanding(spec, trial, row);
    row.insert(row.end(), {{Thousands(trial.trained_resource())},
                           {ClockText(trial.start_time())},
                           {ClockText(trial.end_time())},
                           {ended ? DurationText(SecondsBetween(trial.start_time(), trial.end_time())) : ""},
                           {DurationText(trial.billable_node_seconds())},
                           {trial.state_reason()}});
    table.Add(std::move(row));
  }
  const v1::JobSpend& spend = answer.job().spend();
  return table.Text(session.out, 0,
                    session.Hint(fmt::format("analytics {} --output csv", answer.job().id()))) +
         session.out.Wrapped(fmt::format(
             "\n{}: {}\ntrained {}; {} elapsed, {} training, {} billable\n",
             Count(answer.trials_size(), "trial"), CountsText(answer.job().trial_counts()),
             ResourceText(answer.job()), DurationText(spend.elapsed_seconds()),
             DurationText(spend.training_seconds()), DurationText(spend.billable_node_seconds())));
}

// Returns a row per trial and resource level, with a column per metric.
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

constexpr char kCurvesCsvHeader[] = "trial,metric,resource,value,attempt,time\n";

std::string CurvesCsvRows(const v1::QueryMetricsResponse& page) {
  std::string csv;
  for (const auto& point : page.points()) {
    csv += CsvLine({fmt::format("{}", point.trial()), CsvField(point.metric()),
                    fmt::format("{}", point.resource()), fmt::format("{}", point.value()),
                    fmt::format("{}", point.attempt()), UtcText(point.time())});
  }
  return csv;
}

}  // namespace

Exit ShowAnalytics(Session& session, const std::string& job) {
  v1::GetAnalyticsResponse all;
  const auto csv = [spec = v1::TuningJobSpec()](const auto& page, bool first) mutable {
    if (first) spec = page.job().spec();
    return (first ? TrialsCsvHeader(spec) : "") + TrialsCsvRows(spec, page.trials());
  };
  const absl::Status status =
      session.client().Analytics(job, PrintOrKeep(session, all, &v1::GetAnalyticsResponse::trials, csv));
  if (!status.ok()) return status;
  if (PrintsRows(session) || PrintsJson(session, all)) return kSuccess;
  session.out.Print(AnalyticsText(session, all));
  return kSuccess;
}

Exit ShowMetrics(Session& session, const MetricsOptions& options) {
  v1::QueryMetricsRequest request;
  request.set_job_id(options.job);
  for (const int64_t trial : options.trials) {
    const auto known = session.client().DescribeTrial(options.job, trial);
    if (!known.ok()) return known.status();
    request.add_trials(trial);
  }
  for (const std::string& metric : options.metrics) request.add_metrics(metric);
  v1::QueryMetricsResponse all;
  const auto csv = [](const auto& page, bool first) {
    return (first ? kCurvesCsvHeader : "") + CurvesCsvRows(page);
  };
  const absl::Status status =
      session.client().Metrics(request, 0, PrintOrKeep(session, all, &v1::QueryMetricsResponse::points, csv));
  if (!status.ok()) return status;
  if (PrintsRows(session) || PrintsJson(session, all)) return kSuccess;
  session.out.Print(all.points().empty() ? "No such values were reported\n" : CurvesText(session, all));
  return kSuccess;
}

}  // namespace winnow::cli
