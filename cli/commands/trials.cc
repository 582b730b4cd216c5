#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/names.h"
#include "cli/commands/actions.h"
#include "cli/output/format.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/output/trial_csv.h"

namespace winnow::cli {
namespace {

// Checks that `sort` names a column of the job's trials.
absl::Status CheckSort(const v1::TuningJob& job, const std::string& sort) {
  std::string column = sort;
  for (const std::string suffix : {" desc", " asc"}) {
    if (column.ends_with(suffix)) column.resize(column.size() - suffix.size());
  }
  const std::vector<std::string> known = SortColumns(job.spec());
  if (std::find(known.begin(), known.end(), column) != known.end()) return absl::OkStatus();
  const std::vector<std::string> near = NearestNames(column, known);
  return UsageError(fmt::format("--sort: there is no column \"{}\"{}; expected {}", Clean(column),
                                near.empty() ? "" : fmt::format(" (did you mean {}?)", OneOf(near)),
                                OneOf(known)));
}

// The newest value. Of one that is not a number the message has the level only.
std::string ObjectiveText(const v1::Trial& trial) {
  return trial.has_objective() ? NumberText(trial.objective()) : trial.resource() > 0 ? "nan" : "–";
}

// What ranks trials in a list, as the title of its column.
const char* RankTitle(const v1::TuningJobSpec& spec) {
  if (RanksByBest(spec)) return "BEST";
  return spec.has_repeats() || spec.objective().value() == v1::ObjectiveSpec::MEAN ? "MEAN" : "LAST";
}

// "", "0.5", or "no value" where it ended without one.
std::string ViolationText(const v1::Trial& trial) {
  if (std::isinf(trial.violation())) return "no value";
  return trial.violation() > 0 ? NumberText(trial.violation()) : "";
}

// Returns " (GPU 0)" or " (GPUs 0, 1)"; empty if the rank had none.
std::string RankGpusText(const v1::Rank& rank) {
  if (rank.gpus().empty()) return "";
  std::string ids;
  for (const std::string& id : rank.gpus()) ids += (ids.empty() ? "" : ", ") + id;
  return fmt::format(" ({} {})", rank.gpus_size() == 1 ? "GPU" : "GPUs", ids);
}

const char* StartText(v1::PartStart start) {
  if (start == v1::NEW_PROCESS) return "new process";
  if (start == v1::FORKED) return "forked";
  return start == v1::CONTINUED ? "continued" : "";
}

// "running", or what is done before: "downloads train: 0.30 GiB of 1.20 GiB".
std::string RunningText(const v1::Attempt& attempt) {
  for (const v1::Rank& rank : attempt.ranks()) {
    if (rank.preparing().empty()) continue;
    const std::string who = attempt.ranks_size() > 1 ? fmt::format("rank {} ", rank.rank()) : "";
    return who + Clean(rank.preparing());
  }
  return "running";
}

}  // namespace

std::vector<std::string> SortColumns(const v1::TuningJobSpec& spec) {
  std::vector<std::string> columns = {"number", "objective", "resource", "training_seconds"};
  for (const auto& parameter : spec.parameters()) columns.push_back(parameter.name());
  return columns;
}

void AddHyperparameters(const v1::TuningJobSpec& spec, std::vector<Table::Column>& columns) {
  int drop = 0;
  for (const auto& parameter : spec.parameters()) {
    const auto align = parameter.has_categorical() ? Table::Align::kLeft : Table::Align::kRight;
    columns.push_back({Clean(parameter.name()), align, ++drop});
  }
}

void AddStanding(const v1::TuningJobSpec& spec, std::vector<Table::Column>& columns) {
  for (const std::string& metric : StandingMetrics(spec))
    columns.push_back({Clean(metric), Table::Align::kRight});
}

void AddStanding(const v1::TuningJobSpec& spec, const v1::Trial& trial, std::vector<Table::Cell>& row) {
  for (const std::string& metric : StandingMetrics(spec)) {
    const std::optional<double> value = NewestValue(trial, metric);
    row.push_back({value ? NumberText(*value) : "–"});
  }
}

Exit ListTrials(Session& session, const TrialsOptions& options) {
  const auto job = session.client().Describe(options.job);
  if (!job.ok()) return job.status();
  v1::ListTrialsRequest request;
  request.set_job_id(job->id());
  if (!options.sort.empty()) {
    if (const absl::Status status = CheckSort(*job, options.sort); !status.ok()) return status;
    const bool plain = options.sort.ends_with(" asc");
    request.set_order_by(plain ? options.sort.substr(0, options.sort.size() - 4) : options.sort);
  }
  for (const v1::Trial::State state : options.states) request.add_states(state);
  request.mutable_tags()->Assign(options.tags.begin(), options.tags.end());
  v1::ListTrialsResponse list;
  const auto csv = [&job](const auto& page, bool first) {
    return (first ? TrialsCsvHeader(job->spec()) : "") + TrialsCsvRows(job->spec(), page.trials());
  };
  const absl::Status status = session.client().Trials(
      request, options.limit, PrintOrKeep(session, list, &v1::ListTrialsResponse::trials, csv));
  if (!status.ok()) return status;
  if (PrintsRows(session) || PrintsJson(session, list)) return kSuccess;
  if (list.trials().empty()) {
    session.out.Print(job->id() + (options.states.empty() && options.tags.empty() ? " has no trials yet\n"
                                                                                  : " has no such trials\n"));
    return kSuccess;
  }

  using Align = Table::Align;
  const v1::TuningJobSpec& spec = job->spec();
  const std::string rank = RankTitle(spec);
  const bool constrained = spec.metric_constraints_size() > 0;
  std::vector<Table::Column> columns = {{"TRIAL", Align::kRight}, {"STATE"}};
  if (!HasFront(spec)) {
    columns.push_back({rank, Align::kRight});
    columns.push_back({"AT", Align::kRight, kDropEarly + 3});
    if (rank != "LAST") columns.push_back({"LAST", Align::kRight, kDropEarly + 2});
  }
  AddStanding(spec, columns);
  if (constrained) columns.push_back({"VIOLATES BY", Align::kRight});
  columns.push_back({"UNITS", Align::kRight, kDropEarly});
  columns.push_back({"TRAINING", Align::kRight, kDropEarly + 1});
  const bool tagged = std::any_of(list.trials().begin(), list.trials().end(),
                                  [](const v1::Trial& trial) { return trial.annotation().tags_size() > 0; });
  const bool any_kept = std::any_of(list.trials().begin(), list.trials().end(),
                                    [](const v1::Trial& trial) { return !trial.kept().empty(); });
  if (tagged) columns.push_back({"TAGS", Align::kLeft, kDropEarly + 4});
  if (any_kept) columns.push_back({"KEPT", Align::kLeft, kDropEarly + 4});
  AddHyperparameters(spec, columns);
  Table table(std::move(columns));
  for (const auto& trial : list.trials()) {
    const bool best = job->has_best() && job->best().trial() == trial.number();
    std::vector<Table::Cell> row = {{Thousands(trial.number()), best ? Style::kGood : Style::kPlain},
                                    {StateText(trial.state()), StateStyle(trial.state())}};
    if (!HasFront(spec)) {
      const bool at_best = rank == "BEST";
      const bool known = at_best ? trial.has_best_objective() : trial.has_value();
      row.push_back({known ? NumberText(at_best ? trial.best_objective() : trial.value()) : "–",
                     best ? Style::kGood : Style::kPlain});
      row.push_back({known ? Thousands(at_best ? trial.best_resource() : trial.value_resource()) : ""});
      if (rank != "LAST") row.push_back({ObjectiveText(trial)});
    }
    AddStanding(spec, trial, row);
    if (constrained) row.push_back({ViolationText(trial)});
    row.push_back({Thousands(trial.resource())});
    row.push_back({DurationText(trial.training_seconds())});
    if (tagged) row.emplace_back(TagsText(trial.annotation()));
    if (any_kept) row.push_back({trial.kept().empty() ? "" : "kept"});
    for (const auto& parameter : spec.parameters()) row.emplace_back(ValueText(trial, parameter.name()));
    table.Add(std::move(row));
  }
  session.out.Print(
      table.Text(session.out, 0, session.Hint(fmt::format("trials {} --output csv", job->id()))));
  if (!list.next_page_token().empty()) {
    session.out.Print(
        fmt::format("{} of {}\n", Thousands(list.trials_size()), Count(list.total_size(), "trial")));
  }
  return kSuccess;
}

Exit DescribeTrial(Session& session, const std::string& job, int64_t number) {
  const auto answer = session.client().DescribeTrial(job, number);
  if (!answer.ok()) return answer.status();
  if (PrintsJson(session, *answer)) return kSuccess;
  const Terminal& out = session.out;
  const v1::Trial& trial = answer->trial();
  std::string text = fmt::format(
      "{}  {}\n", out.Paint(Style::kBold, fmt::format("{} trial {}", trial.job_id(), trial.number())),
      out.Paint(StateStyle(trial.state()), StateText(trial.state())));
  const auto line = [&](std::string_view label, const std::string& value) {
    text += out.Labelled(label, 10, value);
  };
  text += AnnotationLines(out, trial.annotation());
  if (!trial.choice_reason().empty()) line("chosen", Clean(trial.choice_reason()));
  if (!trial.state_reason().empty()) line("reason", Clean(trial.state_reason()));
  if (!trial.kept().empty()) line("kept", Clean(trial.kept()));
  if (trial.has_objective() || trial.resource() > 0) {
    std::string objective = fmt::format("{} at {}", ObjectiveText(trial), Count(trial.resource(), "unit"));
    if (trial.has_best_objective() && trial.best_resource() != trial.resource()) {
      objective += fmt::format("; best {} at {}", NumberText(trial.best_objective()),
                               Count(trial.best_resource(), "unit"));
    }
    const bool plain =
        !trial.has_value() || (trial.has_best_objective() && trial.value() == trial.best_objective());
    if (!plain && (!trial.has_objective() || trial.value() != trial.objective()))
      objective += fmt::format("; counts as {}", NumberText(trial.value()));
    line("objective", objective);
  } else {
    line("objective", "none reported");
  }
  for (const v1::MetricReading& reading : trial.metrics()) {
    line("", fmt::format("{} = {}", Clean(reading.metric()), NumberText(reading.value())));
  }
  if (trial.violation() > 0) {
    const auto known = session.client().Describe(job);
    if (!known.ok()) return known.status();
    line("violates", "metric_constraints: " + ViolationsText(known->spec(), trial));
  }
  if (trial.bracket() >= 0)
    line("bracket", fmt::format("{}, rung {}", trial.bracket() + 1, trial.rung() + 1));
  if (trial.nodes() > 1) line("nodes", Thousands(trial.nodes()));
  line("trained",
       fmt::format("{} in {}, {} billable", Count(trial.trained_resource(), "unit"),
                   DurationText(trial.training_seconds()), DurationText(trial.billable_node_seconds())));
  if (trial.has_start_time()) line("started", TimeText(trial.start_time()));
  if (trial.has_end_time()) line("ended", TimeText(trial.end_time()));

  using Align = Table::Align;
  if (!trial.hyperparameters().empty()) {
    Table parameters({{"HYPERPARAMETER"}, {"VALUE"}});
    for (const auto& value : trial.hyperparameters()) {
      const bool active = value.value_case() != v1::HyperparameterValue::VALUE_NOT_SET;
      parameters.Add({{value.name()}, {active ? ValueText(value, true) : "–"}});
    }
    text += "\n" + parameters.Text(out, 2);
  }
  if (!answer->attempts().empty()) {
    const bool told =
        std::any_of(answer->attempts().begin(), answer->attempts().end(),
                    [](const auto& attempt) { return attempt.part_start() != v1::PART_START_UNSPECIFIED; });
    std::vector<Table::Column> columns = {
        {"ATTEMPT", Align::kRight}, {"UNITS", Align::kRight}, {"STARTED"}, {"TOOK", Align::kRight}};
    if (told) columns.push_back({"PROGRAM"});
    columns.push_back({"WORKERS"});
    columns.push_back({"OUTCOME"});
    Table attempts(std::move(columns));
    for (const auto& attempt : answer->attempts()) {
      std::string workers;
      for (const auto& rank : attempt.ranks()) {
        workers += (workers.empty() ? "" : ", ") + rank.worker() + RankGpusText(rank);
      }
      const std::string outcome = attempt.outcome().empty() ? RunningText(attempt) : attempt.outcome();
      std::vector<Table::Cell> cells = {
          {Thousands(attempt.number())},
          {fmt::format("{}–{}", Thousands(attempt.resource_from()),
                       attempt.resource_to() > 0 ? Thousands(attempt.resource_to()) : "end")},
          {ClockText(attempt.start_time())},
          {attempt.has_end_time() ? DurationText(SecondsBetween(attempt.start_time(), attempt.end_time()))
                                  : ""}};
      if (told) cells.push_back({StartText(attempt.part_start())});
      cells.push_back({workers});
      cells.push_back({attempt.reason().empty() ? outcome : outcome + ": " + attempt.reason()});
      attempts.Add(std::move(cells));
    }
    text += "\n" + attempts.Text(out, 2);
  }
  if (!answer->events().empty()) {
    Table events({{"TIME"}, {"EVENT"}});
    for (const auto& event : answer->events()) events.Add({{ClockText(event.time())}, {event.text()}});
    text += "\n" + events.Text(out, 2);
  }
  session.out.Print(text);
  return kSuccess;
}

Exit ShowBest(Session& session, const std::string& name) {
  const auto job = session.client().Describe(name);
  if (!job.ok()) return job.status();
  if (HasFront(job->spec())) return ShowFront(session, job->id());
  if (!job->has_best() && AllFailed(job->trial_counts())) {
    return absl::NotFoundError(fmt::format("{} has no best trial: all its trials {}failed", job->id(),
                                           HasEnded(*job) ? "" : "so far "));
  }
  if (!job->has_best() && job->spec().metric_constraints_size() > 0) {
    const auto nearest = session.client().NearestTrial(job->id());
    if (!nearest.ok()) return nearest.status();
    return absl::NotFoundError(fmt::format("{} has no best trial: none satisfies metric_constraints{}{}",
                                           job->id(), HasEnded(*job) ? "" : " so far",
                                           NearestText(job->spec(), *nearest)));
  }
  if (!job->has_best()) {
    return absl::NotFoundError(fmt::format("{} has no best trial: none has reported a finite value of {}{}",
                                           job->id(), Clean(job->spec().objective().metric()),
                                           HasEnded(*job) ? "" : " so far"));
  }
  const auto answer = session.client().DescribeTrial(job->id(), job->best().trial());
  if (!answer.ok()) return answer.status();
  if (session.output == Output::kJson) {
    auto json = nlohmann::ordered_json::parse(ToJson(answer->trial()));
    if (job->best().has_expected()) {
      json["expected"] = job->best().expected();
      json["expected_error"] = job->best().expected_error();
    }
    if (job->best().has_standard_error()) json["standard_error"] = job->best().standard_error();
    for (const std::string& metric : job->best().unreported()) json["unreported"].push_back(metric);
    session.out.Print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return kSuccess;
  }
  Table table({{"HYPERPARAMETER"}, {"VALUE"}});
  for (const auto& value : answer->trial().hyperparameters()) {
    if (value.value_case() == v1::HyperparameterValue::VALUE_NOT_SET)
      continue;  // the hyperparameter is inactive in this trial
    table.Add({{value.name()}, {ValueText(value, true)}});
  }
  std::string expected = ExpectedText(*job);
  if (const std::string unknown = UnreportedText(*job); !unknown.empty())
    expected += (expected.empty() ? "" : "\n") + unknown;
  session.out.Print(
      fmt::format("{} {}{} ({}, trial {}, {})\n{}{}\n{}", Clean(job->spec().objective().metric()),
                  session.out.Paint(Style::kGood, BestValueText(*job)), HasEnded(*job) ? "" : " so far",
                  job->id(), job->best().trial(), BestLevelText(*job), expected, expected.empty() ? "" : "\n",
                  table.Text(session.out, 2)));
  return kSuccess;
}

}  // namespace winnow::cli
