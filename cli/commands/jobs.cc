#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_text.h"
#include "cli/commands/actions.h"
#include "cli/commands/artifact_calls.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

constexpr size_t kMostFailures = 20;  // groups; the server's own limit

}  // namespace

Exit ListJobs(Session& session, const ListOptions& options) {
  v1::ListTuningJobsRequest request;
  request.mutable_tags()->Assign(options.tags.begin(), options.tags.end());
  for (const v1::TuningJob::State state : options.states) request.add_states(state);
  request.set_search(options.search);
  request.set_project(options.project);
  const auto list = session.client().List(options.limit, request);
  if (!list.ok()) return list.status();
  if (PrintsJson(session, *list, list->jobs())) return kSuccess;
  const bool filtered =
      !options.tags.empty() || !options.states.empty() || !options.search.empty() || !options.project.empty();
  if (list->jobs().empty() && filtered) {
    session.out.Print("There are no such jobs\n");
    return kSuccess;
  }
  if (list->jobs().empty()) {
    session.out.Print("There are no jobs yet. Start one with: " + session.Hint("submit FILE") + "\n");
    return kSuccess;
  }
  using Align = Table::Align;
  std::vector<Table::Column> columns = {{"JOB"},
                                        {"STATE"},
                                        {"TRIALS", Align::kRight},
                                        {"BEST", Align::kRight},
                                        {"UNITS", Align::kRight, 2},
                                        {"ELAPSED", Align::kRight, 1},
                                        {"CREATED", Align::kLeft, 3},
                                        {"OBJECTIVE", Align::kLeft, 4}};
  const bool owned = std::any_of(list->jobs().begin(), list->jobs().end(),
                                 [](const v1::TuningJob& job) { return !job.owner().empty(); });
  if (owned) columns.push_back({"OWNER", Align::kLeft, 5});
  const bool tagged = std::any_of(list->jobs().begin(), list->jobs().end(),
                                  [](const v1::TuningJob& job) { return job.annotation().tags_size() > 0; });
  if (tagged) columns.push_back({"TAGS", Align::kLeft, 6});
  Table table(std::move(columns));
  for (const auto& job : list->jobs()) {
    const std::string ended = Thousands(EndedTrials(job.trial_counts()));
    std::vector<Table::Cell> row = {
        {job.id(), Style::kBold},
        {job.paused() ? "PAUSED" : StateText(job.state()), StateStyle(job.state())},
        {job.planned_trials() > 0 ? ended + "/" + Thousands(job.planned_trials()) : ended},
        {job.has_best()           ? NumberText(job.best().objective())
         : job.front_trials() > 0 ? fmt::format("front of {}", Thousands(job.front_trials()))
                                  : "–"},
        {Thousands(job.spend().resource())},
        {DurationText(job.spend().elapsed_seconds())},
        {TimeText(job.create_time())},
        {MetricsText(job.spec())}};
    if (owned) row.emplace_back(job.owner());
    if (tagged) row.emplace_back(TagsText(job.annotation()));
    table.Add(std::move(row));
  }
  session.out.Print(table.Text(session.out, 0, session.Hint("list --output jsonl")));
  if (!list->next_page_token().empty()) {
    session.out.Print(
        fmt::format("The newest {}; for more: {}\n", list->jobs_size(), session.Hint("list --limit N")));
  }
  return kSuccess;
}

std::string BracketsText(const Session& session, const v1::TuningJob& job) {
  if (job.brackets().empty()) return "";
  using Align = Table::Align;
  Table table({{"BRACKET"},
               {"UNITS", Align::kRight},
               {"ARRIVED", Align::kRight},
               {"", Align::kLeft, 2},
               {"RUNNING", Align::kRight},
               {"BEST", Align::kRight},
               {"CUT-OFF", Align::kRight, 1}});
  for (const auto& bracket : job.brackets()) {
    for (int i = 0; i < bracket.rungs_size(); ++i) {
      const v1::RungState& rung = bracket.rungs(i);
      const double part =
          rung.width() > 0 ? static_cast<double>(rung.arrived()) / static_cast<double>(rung.width()) : 0;
      const bool whole = rung.arrived() >= rung.width();
      // Without a planned width, shows the trials that have arrived.
      const bool open = rung.width() == 0;
      table.Add({{i == 0 ? fmt::format("{}: s = {}", bracket.index() + 1, bracket.s()) : ""},
                 {Thousands(rung.resource())},
                 {open ? Thousands(rung.arrived())
                       : fmt::format("{}/{}", Thousands(rung.arrived()), Thousands(rung.width()))},
                 {open ? "" : BarText(part, 10), whole ? Style::kGood : Style::kBusy},
                 {rung.running() > 0 ? Thousands(rung.running()) : ""},
                 {rung.has_best() ? NumberText(rung.best()) : ""},
                 {rung.has_cutoff() ? NumberText(rung.cutoff()) : ""}});
    }
  }
  std::string text = table.Text(session.out, 2);
  for (const auto& bracket : job.brackets()) {
    if (bracket.end_reason().empty()) continue;
    text += fmt::format("  bracket {} ended: {}\n", bracket.index() + 1, Clean(bracket.end_reason()));
  }
  return text;
}

// "12.50; pool cpu: 0.250 node hours for 2.50"
std::string CostText(const v1::JobSpend& spend) {
  constexpr double kHour = 3600;  // seconds
  std::string text = fmt::format("{:.2f}", spend.cost());
  for (const v1::PoolSpend& pool : spend.pools()) {
    text += fmt::format("; pool {}: {:.3f} node hours for {:.2f}", Clean(pool.pool()),
                        pool.node_seconds() / kHour, pool.cost());
  }
  return text;
}

// The newest changes that people have made.
std::vector<std::string> ChangeTexts(const v1::TuningJob& job) {
  constexpr int kMostShown = 10;
  std::vector<std::string> texts;
  const int all = job.changes_size();
  for (int i = std::max(0, all - kMostShown); i < all; ++i)
    texts.push_back(fmt::format("{}  {}", TimeText(job.changes(i).time()), Clean(job.changes(i).text())));
  if (job.queued_configurations() > 0)
    texts.push_back(fmt::format("{} {} enqueued", Count(job.queued_configurations(), "configuration"),
                                job.queued_configurations() == 1 ? "is" : "are"));
  return texts;
}

Exit DescribeJob(Session& session, const std::string& name) {
  const auto job = session.client().Describe(name);
  if (!job.ok()) return job.status();
  if (PrintsJson(session, *job)) return kSuccess;
  const Terminal& out = session.out;
  const v1::JobSpend& spend = job->spend();
  std::string text = fmt::format("{}  {}{}\n", out.Paint(Style::kBold, job->id()),
                                 out.Paint(StateStyle(job->state()), StateText(job->state())),
                                 job->state_reason().empty() ? "" : "  " + Clean(job->state_reason()));
  const auto line = [&](std::string_view label, const std::string& value) {
    text += out.Labelled(label, 10, value);
  };
  const auto lines = [&](std::string_view label, const std::vector<std::string>& values) {
    for (size_t i = 0; i < values.size(); ++i) line(i == 0 ? label : "", values[i]);
  };
  if (!job->owner().empty()) line("owner", Clean(job->owner()));
  if (!job->project().empty()) line("project", Clean(job->project()));
  text += AnnotationLines(out, job->annotation());
  line("strategy", StrategyText(job->spec()));
  if (!job->strategy_text().empty()) line("search", Clean(job->strategy_text()));
  if (!job->warm_start_text().empty()) line("earlier", Clean(job->warm_start_text()));
  line("best", BestText(*job));
  if (job->has_source()) line("source", SourceText(job->source()));
  line("created", TimeText(job->create_time()));
  if (job->has_end_time()) line("ended", TimeText(job->end_time()));
  line("trials",
       CountsText(job->trial_counts()) +
           (job->planned_trials() > 0 ? fmt::format("; {} planned", Thousands(job->planned_trials())) : ""));
  lines("failures", FailureTexts(*job, kMostFailures));
  line("trained", ResourceText(*job));
  line("time", TimeText(*job, spend.elapsed_seconds()) +
                   fmt::format("; {} billable", DurationText(spend.billable_node_seconds())));
  if (spend.cost() > 0) line("cost", CostText(spend));
  if (const std::string parts = PartsText(*job); !parts.empty()) line("parts", parts);
  lines("notices", NoticeTexts(*job));
  lines("changes", ChangeTexts(*job));
  const std::string brackets = BracketsText(session, *job);
  session.out.Print(text + (brackets.empty() ? "" : "\n" + brackets));
  return kSuccess;
}

Exit StopJob(Session& session, const std::string& name, const std::string& reason) {
  if (!reason.empty()) {
    return UsageError(
        "--reason: is kept with the stop of a trial only; expected a TRIAL, or no --reason. What to know "
        "about a job can be noted with: " +
        session.Hint(fmt::format("annotate {} --note TEXT", name)));
  }
  const auto job = session.client().Stop(name);
  if (!job.ok()) return job.status();
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(*job));
  } else if (HasEnded(*job)) {
    session.out.Print(fmt::format("{} has ended: {}\n", job->id(), StateText(job->state())));
  } else {
    session.out.Print(fmt::format("{} is stopping: no further trial starts. See it end with: {}\n", job->id(),
                                  session.Hint("watch " + job->id())));
  }
  return kSuccess;
}

Exit DeleteJob(Session& session, const std::string& job) {
  if (job == "latest") {
    return UsageError("delete takes a job's id, not \"latest\", so that no job is deleted by mistake. See: " +
                      session.Hint("list"));
  }
  const absl::Status status = session.client().Delete(job);
  // Because of the job, that is, and not because the server only shows a file.
  if (absl::IsFailedPrecondition(status) && MessageOf(status).ends_with("; stop it first")) {
    return absl::FailedPreconditionError(
        fmt::format("{} with: {}", MessageOf(status), session.Hint("stop " + job)));
  }
  if (!status.ok()) return status;
  session.out.Print(session.output == Output::kJson ? ToJson(v1::DeleteTuningJobResponse())
                                                    : fmt::format("{} is deleted\n", job));
  return kSuccess;
}

}  // namespace winnow::cli
