#include "cli/commands/actions.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/status_text.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

template <typename Objective>
std::string GoalText(const Objective& objective) {
  return fmt::format("{} {}", v1::Goal_Name(objective.goal()), Clean(objective.metric()));
}

std::string GoalText(const v1::Comparison& comparison) {
  if (comparison.objectives().empty()) return GoalText(comparison.objective());
  std::string text;
  for (const v1::ObjectivesEntry& objective : comparison.objectives())
    text += (text.empty() ? "" : ", ") + GoalText(objective);
  return text;
}

// The reference point of all rows: "auc 0.5, size its worst value with a margin".
std::string ReferenceText(const v1::Comparison& comparison) {
  std::string text;
  for (const v1::ObjectivesEntry& objective : comparison.objectives()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Clean(objective.metric()),
                        objective.has_threshold() ? NumberText(objective.threshold())
                                                  : "its worst value in all rows with a margin");
  }
  return text;
}

// "0.78"; with several objectives "3.2 (7 trials)".
std::string ResultText(const v1::ComparisonRow& row) {
  if (row.has_hypervolume())
    return fmt::format("{} ({})", NumberText(row.hypervolume()), Count(row.front_trials(), "trial"));
  return row.has_best() ? NumberText(row.best()) : "–";
}

std::string ComparisonText(const Session& session, const v1::Comparison& comparison, bool of_jobs) {
  using Align = Table::Align;
  std::string title = Clean(comparison.by());
  if (of_jobs || comparison.by() == "nodes")
    std::transform(title.begin(), title.end(), title.begin(),
                   [](unsigned char c) { return std::toupper(c); });
  const std::string each = of_jobs ? "" : "/TRIAL";
  Table table({{title, of_jobs ? Align::kLeft : Align::kRight},
               {"TRIALS", Align::kRight},
               {comparison.objectives().empty() ? "BEST" : "HYPERVOLUME (FRONT)", Align::kRight},
               {"ELAPSED" + each, Align::kRight},
               {"NODE-SECONDS" + each, Align::kRight},
               {"PARETO"}});
  for (const v1::ComparisonRow& row : comparison.rows()) {
    table.Add({{Clean(row.name())},
               {Thousands(row.trials())},
               {ResultText(row), row.pareto() ? Style::kGood : Style::kPlain},
               {DurationText(row.elapsed_seconds())},
               {fmt::format("{:.1f}", row.node_seconds())},
               {row.pareto() ? "*" : ""}});
  }
  const bool fronts = !comparison.objectives().empty();
  const std::string reference = fronts ? "; reference point: " + ReferenceText(comparison) : "";
  return table.Text(session.out) +
         session.out.Wrapped(fmt::format("\n{}{}; *: Pareto front of {}, elapsed and node-seconds\n",
                                         GoalText(comparison), reference, fronts ? "hypervolume" : "best"));
}

std::string ComparisonCsv(const v1::Comparison& comparison) {
  const bool fronts = !comparison.objectives().empty();
  std::string csv = CsvField(comparison.by()) +
                    (fronts ? ",trials,hypervolume,front_trials" : ",trials,best_objective") +
                    ",elapsed_seconds,node_seconds,pareto\n";
  for (const v1::ComparisonRow& row : comparison.rows()) {
    const std::string result = fronts           ? fmt::format("{},{}", row.hypervolume(), row.front_trials())
                               : row.has_best() ? fmt::format("{}", row.best())
                                                : "";
    csv += fmt::format("{},{},{},{:.3f},{:.3f},{}\n", CsvField(row.name()), row.trials(), result,
                       row.elapsed_seconds(), row.node_seconds(), row.pareto() ? 1 : 0);
  }
  return csv;
}

}  // namespace

Exit Compare(Session& session, const CompareOptions& options) {
  const bool of_trials = options.by_nodes || !options.by.empty();
  if (of_trials && options.jobs.size() != 1) {
    return UsageError(fmt::format("{}: compares the trials of one job; expected one JOB, not {}",
                                  options.by_nodes ? "--by-nodes" : "--by", options.jobs.size()));
  }
  v1::CompareRequest request;
  request.mutable_job_ids()->Assign(options.jobs.begin(), options.jobs.end());
  request.set_by(of_trials ? options.by : "#job");
  auto comparison = session.client().Compare(request);
  if (absl::IsInvalidArgument(comparison.status()) && comparison.status().message().rfind("by: ", 0) == 0) {
    return UsageError("--" + MessageOf(comparison.status()));
  }
  if (!comparison.ok()) return comparison.status();
  if (of_trials) {
    // Groups differ in size, so values are means per trial.
    for (v1::ComparisonRow& row : *comparison->mutable_rows()) {
      row.set_elapsed_seconds(row.elapsed_seconds() / static_cast<double>(row.trials()));
      row.set_node_seconds(row.node_seconds() / static_cast<double>(row.trials()));
    }
  }
  switch (session.output) {
    case Output::kJson:
      session.out.Print(ToJson(*comparison));
      break;
    case Output::kJsonLines:
      session.out.Print(ToJsonLines(comparison->rows()));
      break;
    case Output::kCsv:
      session.out.Print(ComparisonCsv(*comparison));
      break;
    case Output::kText:
      session.out.Print(ComparisonText(session, *comparison, !of_trials));
      break;
  }
  return kSuccess;
}

}  // namespace winnow::cli
