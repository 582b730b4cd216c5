#include <fmt/format.h>

#include <optional>

#include "cli/commands/actions.h"
#include "cli/output/format.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

// Returns a line for each objective: how good it can get on the front, and where the hypervolume begins.
std::string ObjectivesText(const Session& session, const v1::ParetoFront& front) {
  using Align = Table::Align;
  Table table({{"OBJECTIVE"}, {"GOAL"}, {"BEST", Align::kRight}, {"REFERENCE", Align::kRight}});
  for (int i = 0; i < front.objectives_size(); ++i) {
    const v1::FrontObjective& objective = front.objectives(i);
    const bool minimize = objective.goal() == v1::MINIMIZE;
    std::optional<double> best;
    for (const v1::FrontTrial& trial : front.trials()) {
      const double value = trial.values(i);
      if (!best || (minimize ? value < *best : value > *best)) best = value;
    }
    table.Add({{objective.metric()},
               {minimize ? "minimize" : "maximize"},
               {best ? NumberText(*best) : "–"},
               {objective.has_reference() ? NumberText(objective.reference()) : "–"}});
  }
  return table.Text(session.out, 2);
}

}  // namespace

Exit ShowFront(Session& session, const std::string& name) {
  const auto job = session.client().Describe(name);
  if (!job.ok()) return job.status();
  const auto front = session.client().Front(job->id());
  if (!front.ok()) return front.status();
  if (PrintsJson(session, *front)) return kSuccess;
  std::vector<Table::Column> columns = {{"TRIAL", Table::Align::kRight}};
  for (const v1::FrontObjective& objective : front->objectives()) {
    columns.push_back({Clean(objective.metric()), Table::Align::kRight});
  }
  columns.push_back({"OWN PART", Table::Align::kRight});
  AddHyperparameters(job->spec(), columns);
  Table table(std::move(columns));
  for (const v1::FrontTrial& member : front->trials()) {
    std::vector<Table::Cell> row = {{Thousands(member.trial().number())}};
    for (const double value : member.values()) row.emplace_back(NumberText(value), Style::kGood);
    row.emplace_back(front->hypervolume() > 0 ? PercentText(member.own_hypervolume() / front->hypervolume())
                                              : "–");
    for (const auto& parameter : job->spec().parameters())
      row.emplace_back(ValueText(member.trial(), parameter.name()));
    table.Add(std::move(row));
  }
  std::string text = fmt::format("{}  Pareto front of {}{}, hypervolume {}\n", job->id(),
                                 Count(front->total_size(), "trial"), HasEnded(*job) ? "" : " so far",
                                 NumberText(front->hypervolume()));
  if (front->infeasible_trials() > 0) {
    text += fmt::format("{} violated metric_constraints\n", Count(front->infeasible_trials(), "ended trial"));
  }
  if (front->total_size() == 0 && job->spec().metric_constraints_size() > 0) {
    const auto nearest = session.client().NearestTrial(job->id());
    if (!nearest.ok()) return nearest.status();
    if (*nearest) text += "No trial satisfies metric_constraints" + NearestText(job->spec(), *nearest) + "\n";
  }
  text += "\n" + ObjectivesText(session, *front);
  if (!table.empty()) {
    text += "\n" +
            table.Text(session.out, 2, session.Hint(fmt::format("best {} --front --output json", job->id())));
  }
  if (front->total_size() > front->trials_size())
    text += fmt::format("  {} of {}\n", Thousands(front->trials_size()), Count(front->total_size(), "trial"));
  session.out.Print(text);
  return kSuccess;
}

}  // namespace winnow::cli
