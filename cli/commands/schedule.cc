#include <fmt/format.h>

#include "cli/commands/actions.h"
#include "cli/output/format.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace winnow::cli {

Exit ShowSchedule(Session& session, const std::string& name, int64_t trial) {
  const auto job = session.client().Describe(name);
  if (!job.ok()) return job.status();
  const auto schedule = session.client().Schedule(job->id(), trial);
  if (!schedule.ok()) return schedule.status();
  if (PrintsJson(session, *schedule)) return kSuccess;
  using Align = Table::Align;
  std::vector<Table::Column> columns = {
      {"FROM", Align::kRight}, {"TO", Align::kRight}, {"TRIAL", Align::kRight}};
  columns.push_back({job->spec().objectives().empty() ? Clean(job->spec().objective().metric())
                                                      : Clean(job->spec().objectives(0).metric()),
                     Align::kRight});
  AddHyperparameters(job->spec(), columns);
  Table table(std::move(columns));
  for (const v1::SchedulePart& part : schedule->parts()) {
    std::vector<Table::Cell> row = {
        {Thousands(part.resource_from())}, {Thousands(part.resource_to())}, {Thousands(part.trial())}};
    row.emplace_back(part.has_objective() ? NumberText(part.objective()) : "–");
    v1::Trial values;
    *values.mutable_hyperparameters() = part.hyperparameters();
    for (const auto& parameter : job->spec().parameters())
      row.emplace_back(ValueText(values, parameter.name()));
    table.Add(std::move(row));
  }
  std::string text = fmt::format("{}  schedule of trial {}, {}\n\n", job->id(), Thousands(schedule->trial()),
                                 Count(schedule->parts_size(), "part"));
  session.out.Print(text + table.Text(session.out, 2));
  return kSuccess;
}

}  // namespace winnow::cli
