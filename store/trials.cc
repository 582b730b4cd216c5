#include "store/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "store/annotations.h"
#include "store/fact_codec.h"

namespace winnow {
namespace {

constexpr char kColumns[] =
    "trial, state, reason, configuration, objective, resource, best_objective, best_resource, bracket, rung,"
    " attempts, create_us, start_us, end_us, training_us, trained_resource, value, value_resource, metrics,"
    " violation";

std::optional<double> Number(double value) {
  if (std::isnan(value)) return std::nullopt;
  return value;
}

std::optional<double> ReadReal(const Statement& s, int column) {
  if (s.IsNull(column)) return std::nullopt;
  return s.Real(column);
}

std::string EncodeMetrics(const std::vector<std::optional<double>>& metrics) {
  if (metrics.empty()) return "";
  nlohmann::json list = nlohmann::json::array();
  for (const std::optional<double>& value : metrics) {
    list.push_back(value ? nlohmann::json(*value) : nlohmann::json());
  }
  return list.dump();
}

absl::StatusOr<std::vector<std::optional<double>>> DecodeMetrics(const std::string& text) {
  std::vector<std::optional<double>> metrics;
  if (text.empty()) return metrics;
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array()) return absl::DataLossError("a trial's metrics cannot be read: " + text);
  for (const nlohmann::json& value : list) {
    metrics.push_back(value.is_number() ? std::optional(value.get<double>()) : std::nullopt);
  }
  return metrics;
}

absl::StatusOr<TrialRow> ReadTrial(const Statement& s) {
  absl::StatusOr<Configuration> configuration = DecodeConfiguration(s.Text(3));
  if (!configuration.ok()) return configuration.status();
  TrialRow row;
  row.number = s.Int(0);
  row.state = s.Text(1);
  row.reason = s.Text(2);
  row.configuration = *std::move(configuration);
  row.objective = ReadReal(s, 4);
  row.resource = s.Int(5);
  row.best_objective = ReadReal(s, 6);
  row.best_resource = s.Int(7);
  row.bracket = s.Int(8);
  row.rung = s.Int(9);
  row.attempts = s.Int(10);
  row.create_us = s.Int(11);
  row.start_us = s.Int(12);
  row.end_us = s.Int(13);
  row.training_us = s.Int(14);
  row.trained_resource = s.Int(15);
  row.value = ReadReal(s, 16);
  row.value_resource = s.Int(17);
  absl::StatusOr<std::vector<std::optional<double>>> metrics = DecodeMetrics(s.Text(18));
  if (!metrics.ok()) return metrics.status();
  row.metrics = *std::move(metrics);
  row.violation = s.Real(19);
  return row;
}

std::string OrderBy(const TrialQuery& query) {
  std::string column;
  switch (query.order) {
    case TrialColumn::kNumber:
      column = "trial";
      break;
    case TrialColumn::kObjective:
      column = "value";
      break;
    case TrialColumn::kResource:
      column = "resource";
      break;
    case TrialColumn::kTrainingTime:
      column = "training_us";
      break;
    case TrialColumn::kHyperparameter:
      column = fmt::format("json_extract(configuration, '$[{}]')", query.parameter);
      break;
  }
  const char* completed = query.completed == TrialQuery::Completed::kAnywhere ? ""
                          : query.completed == TrialQuery::Completed::kFirst
                              ? "value IS NULL, state = 'completed' DESC, "
                              : "value IS NULL, state = 'completed' ASC, ";
  return fmt::format("{}{} {} NULLS LAST, trial", completed, column, query.descending ? "DESC" : "ASC");
}

// ?1: the job, ?2 and ?3: JSON lists of states and of tags.
std::string PassingTrials() {
  return fmt::format(
      "job = ?1 AND (?2 = '[]' OR state IN (SELECT value FROM json_each(?2)))"
      " AND (?3 = '[]' OR trial IN (SELECT a.trial FROM annotations a WHERE a.job = ?1 AND a.trial > 0 AND "
      "{}))",
      HasAllTags("a.tags", "?3"));
}

// In the order of TrialPhase.
constexpr const char* kPhaseNames[kTrialPhases] = {"pending", "running", "paused",   "completed",
                                                   "pruned",  "failed",  "cancelled"};

}  // namespace

std::string_view PhaseName(TrialPhase phase) { return kPhaseNames[static_cast<size_t>(phase)]; }

std::optional<TrialPhase> PhaseOf(std::string_view name) {
  const auto* found = std::find(std::begin(kPhaseNames), std::end(kPhaseNames), name);
  if (found == std::end(kPhaseNames)) return std::nullopt;
  return static_cast<TrialPhase>(found - std::begin(kPhaseNames));
}

TrialRow MakeTrialRow(const TrialState& trial) {
  TrialRow row;
  row.number = trial.number;
  row.state = PhaseName(trial.phase);
  row.reason = trial.reason;
  row.configuration = trial.configuration;
  if (!trial.curve.empty()) {
    row.resource = trial.curve.back().first;
    row.objective = Number(trial.curve.back().second);
  }
  if (trial.best_resource > 0) {
    row.best_objective = trial.best_objective;
    row.best_resource = trial.best_resource;
  }
  if (trial.value_resource > 0) row.value = trial.value;
  row.value_resource = trial.value_resource;
  if (!trial.further.empty()) {
    for (size_t i = 0; i <= trial.further.size(); ++i) {
      const Curve& curve = trial.curve_of(static_cast<int64_t>(i));
      const bool finite = !curve.empty() && std::isfinite(curve.back().second);
      row.metrics.push_back(finite ? std::optional(curve.back().second) : std::nullopt);
    }
  }
  row.violation = trial.violation;
  row.bracket = trial.bracket;
  row.rung = trial.rung;
  row.attempts = trial.attempts;
  row.create_us = trial.created_us;
  row.start_us = trial.started_us;
  row.end_us = trial.ended_us;
  row.training_us = trial.training_us;
  row.trained_resource = trial.trained_resource;
  return row;
}

TrialTable::TrialTable(Database& database)
    : database_(database),
      put_(database, fmt::format("INSERT OR REPLACE INTO trials (job, {}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
                                 " ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
                                 kColumns)),
      count_(database, fmt::format("SELECT COUNT(*) FROM trials WHERE {}", PassingTrials())),
      find_(database, fmt::format("SELECT {} FROM trials WHERE job = ?1 AND trial = ?2", kColumns)),
      all_(database, fmt::format("SELECT {} FROM trials WHERE job = ?1 ORDER BY trial", kColumns)),
      reason_(database, "SELECT reason FROM trials WHERE job = ?1 AND trial = ?2") {}

absl::Status TrialTable::Put(int64_t job, const TrialRow& row) {
  return put_
      .Bind(job, row.number, row.state, row.reason, EncodeConfiguration(row.configuration), row.objective,
            row.resource, row.best_objective, row.best_resource, row.bracket, row.rung, row.attempts,
            row.create_us, row.start_us, row.end_us, row.training_us, row.trained_resource, row.value,
            row.value_resource, EncodeMetrics(row.metrics), row.violation)
      .RunLater();
}

absl::StatusOr<std::vector<TrialRow>> TrialTable::List(int64_t job, const TrialQuery& query) {
  // The ordering is one of a few fixed texts; values are bound.
  Statement list(database_,
                 fmt::format("SELECT {} FROM trials WHERE {} AND trial > ?6 ORDER BY {} LIMIT ?4 OFFSET ?5",
                             kColumns, PassingTrials(), OrderBy(query)));
  list.Bind(job, nlohmann::json(query.states).dump(), nlohmann::json(query.tags).dump(), query.limit,
            query.offset, query.after);
  std::vector<TrialRow> rows;
  absl::Status status = list.ForEach([&]() -> absl::Status {
    absl::StatusOr<TrialRow> row = ReadTrial(list);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<int64_t> TrialTable::Count(int64_t job, const TrialQuery& query) {
  absl::StatusOr<bool> row =
      count_.Bind(job, nlohmann::json(query.states).dump(), nlohmann::json(query.tags).dump()).Next();
  if (!row.ok()) return row.status();
  int64_t count = count_.Int(0);
  count_.Reset();
  return count;
}

absl::StatusOr<std::optional<TrialRow>> TrialTable::Find(int64_t job, TrialNumber number) {
  absl::StatusOr<bool> there = find_.Bind(job, number).Next();
  if (!there.ok()) return there.status();
  if (!*there) return std::nullopt;
  absl::StatusOr<TrialRow> row = ReadTrial(find_);
  find_.Reset();
  if (!row.ok()) return row.status();
  return *std::move(row);
}

absl::Status TrialTable::ForEach(int64_t job, const std::function<absl::Status(const TrialRow&)>& take) {
  all_.Bind(job);
  return all_.ForEach([&]() -> absl::Status {
    const absl::StatusOr<TrialRow> row = ReadTrial(all_);
    return row.ok() ? take(*row) : row.status();
  });
}

absl::StatusOr<std::string> TrialTable::Reason(int64_t job, TrialNumber number) {
  const absl::StatusOr<bool> there = reason_.Bind(job, number).Next();
  if (!there.ok()) return there.status();
  std::string reason = *there ? reason_.Text(0) : "";
  reason_.Reset();
  return reason;
}

absl::StatusOr<TrialNumber> TrialTable::Best(int64_t job, const SearchSpec& spec) {
  if (spec.has_several_objectives()) return 0;
  TrialQuery query;
  query.order = TrialColumn::kObjective;
  query.descending = spec.goal == Goal::kMaximize;
  if (spec.objective_value != ObjectiveValue::kBest) query.completed = TrialQuery::Completed::kFirst;
  Statement best(database_, fmt::format("SELECT trial FROM trials WHERE job = ?1 AND state <> 'failed'"
                                        " AND value IS NOT NULL AND violation = 0 ORDER BY {} LIMIT 1",
                                        OrderBy(query)));
  const absl::StatusOr<bool> row = best.Bind(job).Next();
  if (!row.ok()) return row.status();
  return *row ? best.Int(0) : 0;
}

}  // namespace winnow
