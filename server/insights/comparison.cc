// Compares jobs, or groups of one job's trials.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "insight/pareto.h"
#include "scheduler/space/space.h"
#include "scheduler/state/standing.h"
#include "server/engine/answers/job_view.h"
#include "server/insights/insights.h"

namespace winnow {
namespace {

constexpr int kMostCompared = 100;
constexpr char kJobs[] = "#job";
// A numeric parameter with more values than this is grouped by this many parts of its axis.
constexpr size_t kMostValues = 12;
constexpr double kBins = 8;

template <typename Objective>
std::string GoalText(const Objective& objective) {
  return fmt::format("{} {}", v1::Goal_Name(objective.goal()), objective.metric());
}

std::string GoalText(const v1::TuningJobSpec& spec) {
  if (spec.objectives().empty()) return GoalText(spec.objective());
  std::string text;
  for (const v1::ObjectivesEntry& objective : spec.objectives())
    text += (text.empty() ? "" : ", ") + GoalText(objective);
  return text;
}

std::string GoalText(const v1::Comparison& comparison) {
  v1::TuningJobSpec spec;
  *spec.mutable_objective() = comparison.objective();
  *spec.mutable_objectives() = comparison.objectives();
  return GoalText(spec);
}

// The trials of a row that may be on its front.
std::vector<Standing> StandingsOf(const SearchSpec& search, const std::vector<TrialRow>& rows) {
  std::vector<Standing> standings;
  for (const TrialRow& row : rows) {
    Standing standing{row.number, {}, row.violation};
    for (size_t i = 0; i < std::min(search.objectives.size(), row.metrics.size()); ++i) {
      if (row.metrics[i]) standing.keys.push_back(search.objectives[i].Key(*row.metrics[i]));
    }
    const bool whole = standing.keys.size() == search.objectives.size();
    if (whole && PhaseOf(row.state) != TrialPhase::kFailed) standings.push_back(std::move(standing));
  }
  return standings;
}

// The standings of some of a job's trials, from its table.
std::vector<Standing> StandingsOf(const JobTrials& job, const std::vector<TrialNumber>& trials) {
  const TrialColumns& columns = job.columns;
  const std::vector<Objective>& objectives = job.search.objectives;
  std::vector<Standing> standings;
  for (const TrialNumber number : trials) {
    const auto row = static_cast<size_t>(number - 1);
    Standing standing{number, {}, columns.violation[row]};
    for (size_t i = 0; i < std::min(objectives.size(), columns.metric.size()); ++i) {
      const double value = columns.metric[i][row];
      if (!std::isnan(value)) standing.keys.push_back(objectives[i].Key(value));
    }
    const bool whole = standing.keys.size() == objectives.size();
    if (whole && columns.phase[row] != TrialPhase::kFailed) standings.push_back(std::move(standing));
  }
  return standings;
}

// Gives each row its front and hypervolume; `standings` has those of each.
void FillFronts(const SearchSpec& first, const std::vector<std::vector<Standing>>& standings,
                v1::Comparison& comparison) {
  std::vector<Standing> all;
  for (const std::vector<Standing>& of_row : standings) all.insert(all.end(), of_row.begin(), of_row.end());
  const auto reference = ReferenceOf(first.objectives, all);
  for (int i = 0; i < comparison.rows_size(); ++i) {
    v1::ComparisonRow& row = *comparison.mutable_rows(i);
    row.set_hypervolume(HypervolumeOf(standings[i], reference));
    row.set_front_trials(FrontSizeOf(standings[i]));
  }
}

// "a, b or c"
std::string OneOf(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

// Fills the row of a job from its trials.
void FillRow(const JobTrials& job, int64_t now_us, v1::ComparisonRow& row) {
  const TrialColumns& columns = job.columns;
  row.set_trials(static_cast<int64_t>(columns.size()));
  if (const std::optional<uint32_t> best = columns.BestRow()) row.set_best(columns.best[*best]);
  double node_us = 0;
  for (size_t i = 0; i < columns.size(); ++i)
    node_us += static_cast<double>(columns.training_us[i]) * columns.nodes[i];
  row.set_node_seconds(node_us / 1e6);
  const int64_t end_us = job.row.end_us > 0 ? job.row.end_us : now_us;
  row.set_elapsed_seconds(static_cast<double>(end_us - job.row.create_us) / 1e6);
}

void FillRow(const v1::TuningJob& job, v1::ComparisonRow& row) {
  const v1::TrialCounts& counts = job.trial_counts();
  row.set_trials(counts.pending() + counts.running() + counts.paused() + counts.completed() +
                 counts.pruned() + counts.failed() + counts.cancelled());
  if (job.has_best()) row.set_best(job.best().objective());
  row.set_elapsed_seconds(job.spend().elapsed_seconds());
  row.set_node_seconds(job.spend().billable_node_seconds());
}

// A grouping of the trials of a job.
struct Grouping {
  std::vector<double> keys;             // by row; NaN: in no group
  std::map<double, std::string> names;  // of each key
  bool by_name = false;                 // sorts groups by name instead of by key
};

Grouping GroupingByNodes(const std::vector<int32_t>& nodes) {
  Grouping grouping;
  for (const int32_t count : nodes) {
    grouping.keys.push_back(std::max(1, count));
    grouping.names[grouping.keys.back()] = fmt::format("{}", std::max(1, count));
  }
  return grouping;
}

std::string ValueText(const AxisScale& axis, double number) {
  if (axis.categorical()) return axis.values()[static_cast<size_t>(number)];
  return axis.integer() ? fmt::format("{}", static_cast<int64_t>(number)) : DoubleToString(number);
}

// Groups by a hyperparameter's values. A numeric parameter with many values is grouped by equal parts of its
// axis, each named after its least and greatest value.
Grouping GroupingBy(const AxisScale& axis, const std::vector<double>& numbers) {
  Grouping grouping{numbers, {}, axis.categorical()};
  for (const double number : numbers) {
    if (!std::isnan(number)) grouping.names.try_emplace(number);  // NaN: inactive
  }
  if (axis.categorical() || axis.discrete() || grouping.names.size() <= kMostValues) {
    for (auto& [number, name] : grouping.names) name = ValueText(axis, number);
    return grouping;
  }
  grouping.names.clear();
  std::map<double, std::pair<double, double>> ends;
  for (double& key : grouping.keys) {
    if (std::isnan(key)) continue;
    const double number = key;
    key = std::min(std::floor(axis.PositionOf(number) * kBins), kBins - 1);
    auto& [low, high] = ends.try_emplace(key, number, number).first->second;
    low = std::min(low, number);
    high = std::max(high, number);
  }
  const auto text = [&](double number) {
    return axis.integer() ? ValueText(axis, number) : fmt::format("{:.4g}", number);
  };
  for (const auto& [key, end] : ends) {
    grouping.names[key] =
        end.first == end.second ? text(end.first) : text(end.first) + " to " + text(end.second);
  }
  return grouping;
}

// Returns the trials of each row, in ascending order.
std::vector<std::vector<TrialNumber>> FillTrials(const JobTrials& job, const Grouping& grouping,
                                                 v1::Comparison& comparison) {
  std::map<std::pair<double, std::string>, std::vector<TrialNumber>> members;
  const TrialColumns& columns = job.columns;
  std::map<std::pair<double, std::string>, v1::ComparisonRow> rows;
  for (const uint32_t i : columns.Ranking()) {  // the first of a group that can be is its best
    const double key = grouping.keys[i];
    if (std::isnan(key)) continue;
    const std::pair group(grouping.by_name ? 0 : key, grouping.names.at(key));
    members[group].push_back(static_cast<TrialNumber>(i) + 1);
    v1::ComparisonRow& row = rows[group];
    row.set_trials(row.trials() + 1);
    if (!row.has_best() && columns.can_be_best(i)) row.set_best(columns.score(i));
    const double seconds = static_cast<double>(columns.training_us[i]) / 1e6;
    row.set_elapsed_seconds(row.elapsed_seconds() + seconds);
    row.set_node_seconds(row.node_seconds() + seconds * columns.nodes[i]);
  }
  for (auto& [key, row] : rows) {
    row.set_name(key.second);
    *comparison.add_rows() = std::move(row);
  }
  std::vector<std::vector<TrialNumber>> trials;
  for (auto& [key, numbers] : members) {
    std::sort(numbers.begin(), numbers.end());
    trials.push_back(std::move(numbers));
  }
  return trials;
}

// `each`: compares times per trial, because groups differ in size.
void MarkPareto(bool each, v1::Comparison& comparison) {
  std::vector<Outcome> outcomes;
  for (const v1::ComparisonRow& row : comparison.rows()) {
    const double part = each ? static_cast<double>(row.trials()) : 1;
    const std::optional<double> value = row.has_hypervolume() ? std::optional(row.hypervolume())
                                        : row.has_best()      ? std::optional(row.best())
                                                              : std::nullopt;
    outcomes.push_back({value, row.elapsed_seconds() / part, row.node_seconds() / part});
  }
  const bool fronts = !comparison.objectives().empty();  // the larger hypervolume is better
  const Goal goal =
      fronts || comparison.objective().goal() == v1::MAXIMIZE ? Goal::kMaximize : Goal::kMinimize;
  const std::vector<bool> front = ParetoFront(outcomes, goal);
  for (int i = 0; i < comparison.rows_size(); ++i) comparison.mutable_rows(i)->set_pareto(front[i]);
}

}  // namespace

absl::Status Insights::AddJob(const std::string& id, v1::Comparison& comparison) {
  const absl::StatusOr<JobHead> job = FindJob(store_, id);
  if (!job.ok()) return job.status();
  if (comparison.rows().empty()) {
    *comparison.mutable_objective() = job->spec.objective();
    *comparison.mutable_objectives() = job->spec.objectives();
  }
  if (GoalText(job->spec) != GoalText(comparison)) {
    return absl::InvalidArgumentError(
        fmt::format("{} has the objective {}, {} has {}; expected jobs with the same one",
                    comparison.rows(0).name(), GoalText(comparison), id, GoalText(job->spec)));
  }
  v1::ComparisonRow& row = *comparison.add_rows();
  row.set_name(id);
  const absl::StatusOr<std::optional<v1::TuningJob>> kept = KeptDescription(store_, job->row);
  if (!kept.ok()) return kept.status();
  if (*kept) {
    FillRow(**kept, row);
    return absl::OkStatus();
  }
  const absl::StatusOr<const JobTrials*> trials = tables_.Get(id);
  if (!trials.ok()) return trials.status();
  FillRow(**trials, clock_.wall_us(), row);
  return absl::OkStatus();
}

// Gives the rows of a comparison of jobs with several objectives their fronts: row i has the trials of job
// ids[i].
absl::Status Insights::AddFronts(const std::vector<std::string>& ids, v1::Comparison& comparison) {
  if (comparison.objectives().empty()) return absl::OkStatus();
  std::vector<std::vector<Standing>> standings;
  SearchSpec first;
  for (size_t i = 0; i < ids.size(); ++i) {
    const absl::StatusOr<JobHead> job = FindJob(store_, ids[i]);
    if (!job.ok()) return job.status();
    if (i == 0) first = job->search;
    const absl::StatusOr<std::vector<TrialRow>> rows = store_.trials.List(job->row.key, {});
    if (!rows.ok()) return rows.status();
    standings.push_back(StandingsOf(job->search, *rows));
  }
  FillFronts(first, standings, comparison);
  return absl::OkStatus();
}

absl::Status Insights::AddGroups(const std::string& id, const std::string& by, v1::Comparison& comparison) {
  const absl::StatusOr<const JobTrials*> got = tables_.Get(id);
  if (!got.ok()) return got.status();
  const JobTrials& job = **got;
  *comparison.mutable_objective() = job.spec.objective();
  *comparison.mutable_objectives() = job.spec.objectives();
  comparison.set_by(by.empty() ? "nodes" : by);
  const auto fill = [&](const Grouping& grouping) {
    std::vector<std::vector<Standing>> standings;
    for (const std::vector<TrialNumber>& trials : FillTrials(job, grouping, comparison))
      standings.push_back(StandingsOf(job, trials));
    if (!comparison.objectives().empty()) FillFronts(job.search, standings, comparison);
    return absl::OkStatus();
  };
  if (by.empty()) return fill(GroupingByNodes(job.columns.nodes));
  std::vector<std::string> names;
  for (size_t i = 0; i < job.columns.axes().size(); ++i) {
    const AxisScale& axis = job.columns.axes()[i];
    names.push_back(axis.name());
    if (axis.name() != by) continue;
    return fill(GroupingBy(axis, job.columns.number[i]));
  }
  return absl::InvalidArgumentError(
      fmt::format("by: {} has no hyperparameter \"{}\"; expected {}", id, by, OneOf(names)));
}

absl::StatusOr<v1::Comparison> Insights::Compare(const v1::CompareRequest& request) {
  if (request.job_ids_size() < 1 || request.job_ids_size() > kMostCompared) {
    return absl::InvalidArgumentError(
        fmt::format("job_ids: {} of them; expected 1 to {}", request.job_ids_size(), kMostCompared));
  }
  const bool of_jobs = request.job_ids_size() > 1 || request.by() == kJobs;
  if (of_jobs && !request.by().empty() && request.by() != kJobs) {
    return absl::InvalidArgumentError(fmt::format(
        "by: the trials of one job are compared; expected one job, not {}", request.job_ids_size()));
  }
  v1::Comparison comparison;
  const absl::Status status = store_.Read([&]() -> absl::Status {
    if (!of_jobs) return AddGroups(request.job_ids(0), request.by(), comparison);
    comparison.set_by("job");
    for (const std::string& id : request.job_ids()) {
      absl::Status added = AddJob(id, comparison);
      if (!added.ok()) return added;
    }
    return AddFronts({request.job_ids().begin(), request.job_ids().end()}, comparison);
  });
  if (!status.ok()) return status;
  MarkPareto(!of_jobs, comparison);
  return comparison;
}

}  // namespace winnow
