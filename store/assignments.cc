#include "store/assignments.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "store/enum_text.h"

namespace winnow {
namespace {

constexpr const char* kRankStates[] = {"wanted", "revoked", "drained", "gone"};
constexpr const char* kRankPhases[] = {"placed", "prepared", "started"};
constexpr const char* kRankOutcomes[] = {"finished", "failed", "lost", "handed_back", "stopped"};
constexpr const char* kCauses[] = {"", "out_of_memory", "time_limit", "not_started", "ranks_gone"};
constexpr const char* kPartStartNames[] = {"", "new_process", "forked", "continued"};
constexpr EnumTexts<RankState, 4> kRankStateTexts("assignments.state", kRankStates);
constexpr EnumTexts<RankPhase, 3> kRankPhaseTexts("assignments.phase", kRankPhases);
constexpr EnumTexts<AttemptOutcome, 5> kRankOutcomeTexts("assignments.outcome", kRankOutcomes);
constexpr EnumTexts<FailureCause, 5> kCauseTexts("assignments.cause", kCauses);
constexpr EnumTexts<PartStart, 4> kPartStartTexts("assignments.part_start", kPartStartNames);

// '' is none.
std::string TextOfIds(const std::vector<std::string>& ids) {
  if (ids.empty()) return "";
  return nlohmann::json(ids).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

absl::Status ReadIds(const std::string& text, std::vector<std::string>& ids) {
  if (text.empty()) return absl::OkStatus();
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  bool good = list.is_array();
  for (const nlohmann::json& id : good ? list : nlohmann::json::array()) {
    good = good && id.is_string();
    if (good) ids.push_back(id.get<std::string>());
  }
  if (good) return absl::OkStatus();
  return absl::DataLossError(fmt::format("assignments.gpus is \"{}\"; expected a JSON list of texts", text));
}

const char* OutcomeText(const AssignmentRow& row) {
  return row.outcome ? kRankOutcomeTexts.Text(*row.outcome) : "";
}

absl::StatusOr<AssignmentRow> ReadAssignment(const Statement& s) {
  AssignmentRow row;
  row.key = s.Int(0);
  row.id = s.Text(1);
  row.job = s.Int(2);
  row.trial = s.Int(3);
  row.attempt = s.Int(4);
  row.rank = static_cast<int32_t>(s.Int(5));
  row.worker = s.Text(6);
  row.port = static_cast<int32_t>(s.Int(7));
  row.resource_from = s.Int(8);
  row.resource_to = s.Int(9);
  row.reason = s.Text(12);
  row.place_us = s.Int(13);
  row.start_us = s.Int(14);
  row.end_us = s.Int(15);
  row.slots = static_cast<int32_t>(s.Int(16));
  row.cpus = s.Real(17);
  row.memory_gib = s.Real(18);
  absl::Status status = kRankStateTexts.Read(s.Text(10), row.state);
  if (const std::string outcome = s.Text(11); status.ok() && !outcome.empty()) {
    status = kRankOutcomeTexts.Read(outcome, row.outcome.emplace());
  }
  if (status.ok()) status = kRankPhaseTexts.Read(s.Text(19), row.phase);
  if (status.ok()) status = kCauseTexts.Read(s.Text(20), row.cause);
  if (status.ok()) status = ReadIds(s.Text(21), row.gpus);
  if (status.ok()) status = kPartStartTexts.Read(s.Text(23), row.part_start);
  if (!status.ok()) return status;
  row.gpu_share = s.Real(22);
  return row;
}

std::string SelectAssignments(const char* rest) {
  return fmt::format(
      "SELECT a.assignment, a.id, a.job, a.trial, a.attempt, a.rank, a.worker, a.port, a.resource_from,"
      " a.resource_to, a.state, a.outcome, a.reason, a.place_us, a.start_us, a.end_us,"
      " a.slots, a.cpus, a.memory_gib, a.phase, a.cause, a.gpus, a.gpu_share, a.part_start FROM assignments "
      "a {}",
      rest);
}

}  // namespace

const char* TextOf(RankState state) { return kRankStateTexts.Text(state); }

AssignmentTable::AssignmentTable(Database& database)
    : database_(database),
      insert_(database,
              "INSERT INTO assignments (id, job, trial, attempt, rank, worker, port, resource_from,"
              " resource_to, state, outcome, reason, place_us, start_us, end_us, slots, cpus, memory_gib,"
              " phase, cause, gpus, gpu_share) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
              "?13, ?14, ?15,"
              " ?16, ?17, ?18, ?19, ?20, ?21, ?22)"),
      update_(database,
              "UPDATE assignments SET state = ?2, outcome = ?3, reason = ?4, start_us = ?5, end_us = ?6,"
              " port = ?7, phase = ?8, cause = ?9, part_start = ?10 WHERE assignment = ?1"),
      held_(database,
            SelectAssignments(
                "JOIN (SELECT DISTINCT job, trial, attempt FROM assignments WHERE state <> 'gone') h"
                " ON a.job = h.job AND a.trial = h.trial AND a.attempt = h.attempt"
                " ORDER BY a.job, a.trial, a.attempt, a.rank")),
      of_trial_(database, SelectAssignments("WHERE a.job = ?1 AND a.trial = ?2 ORDER BY a.attempt, a.rank")),
      newest_(database,
              SelectAssignments(
                  "WHERE a.job = ?1 AND a.rank = 0 AND a.attempt ="
                  " (SELECT MAX(attempt) FROM assignments b WHERE b.job = a.job AND b.trial = a.trial)"
                  " ORDER BY a.trial")),
      find_(database, SelectAssignments("WHERE a.id = ?1")) {}

absl::StatusOr<int64_t> AssignmentTable::Insert(const AssignmentRow& row) {
  absl::Status status = insert_
                            .Bind(row.id, row.job, row.trial, row.attempt, row.rank, row.worker, row.port,
                                  row.resource_from, row.resource_to, kRankStateTexts.Text(row.state),
                                  OutcomeText(row), row.reason, row.place_us, row.start_us, row.end_us,
                                  row.slots, row.cpus, row.memory_gib, kRankPhaseTexts.Text(row.phase),
                                  kCauseTexts.Text(row.cause), TextOfIds(row.gpus), row.gpu_share)
                            .RunLater();
  if (!status.ok()) return status;
  return database_.LastInsertKey();
}

absl::Status AssignmentTable::Update(const AssignmentRow& row) {
  return update_
      .Bind(row.key, kRankStateTexts.Text(row.state), OutcomeText(row), row.reason, row.start_us, row.end_us,
            row.port, kRankPhaseTexts.Text(row.phase), kCauseTexts.Text(row.cause),
            kPartStartTexts.Text(row.part_start))
      .RunLater();
}

absl::StatusOr<std::vector<AssignmentRow>> AssignmentTable::All(Statement& s) {
  std::vector<AssignmentRow> rows;
  absl::Status status = s.ForEach([&]() -> absl::Status {
    absl::StatusOr<AssignmentRow> row = ReadAssignment(s);
    if (row.ok()) rows.push_back(*std::move(row));
    return row.status();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<std::vector<AssignmentRow>> AssignmentTable::Held() { return All(held_.Bind()); }

absl::StatusOr<std::vector<AssignmentRow>> AssignmentTable::OfTrial(int64_t job, TrialNumber trial) {
  return All(of_trial_.Bind(job, trial));
}

absl::StatusOr<std::vector<AssignmentRow>> AssignmentTable::NewestOfJob(int64_t job) {
  return All(newest_.Bind(job));
}

absl::StatusOr<std::optional<AssignmentRow>> AssignmentTable::Find(const std::string& id) {
  absl::StatusOr<std::vector<AssignmentRow>> rows = All(find_.Bind(id));
  if (!rows.ok()) return rows.status();
  if (rows->empty()) return std::nullopt;
  return std::move(rows->front());
}

}  // namespace winnow
