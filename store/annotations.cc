#include "store/annotations.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace winnow {
namespace {

absl::StatusOr<AnnotationRow> ReadAnnotation(const Statement& s) {
  AnnotationRow row;
  const nlohmann::json tags = nlohmann::json::parse(s.Text(1), nullptr, false);
  if (!tags.is_array()) return absl::DataLossError("the tags of an annotation cannot be read: " + s.Text(1));
  for (const nlohmann::json& tag : tags) {
    if (tag.is_string()) row.tags.push_back(tag.get<std::string>());
  }
  row.note = s.Text(2);
  row.author = s.Text(3);
  row.time_us = s.Int(4);
  return row;
}

}  // namespace

AnnotationTable::AnnotationTable(Database& database)
    : put_(database,
           "INSERT OR REPLACE INTO annotations (job, trial, tags, note, author, time_us)"
           " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
      delete_(database, "DELETE FROM annotations WHERE job = ?1 AND trial = ?2"),
      find_(database,
            "SELECT trial, tags, note, author, time_us FROM annotations WHERE job = ?1 AND trial = ?2"),
      of_trials_(database,
                 "SELECT trial, tags, note, author, time_us FROM annotations"
                 " WHERE job = ?1 AND trial >= 1 AND trial BETWEEN ?2 AND ?3 ORDER BY trial") {}

absl::Status AnnotationTable::Put(int64_t job, TrialNumber trial, const AnnotationRow& row) {
  if (row.empty()) return delete_.Bind(job, trial).Run();
  return put_.Bind(job, trial, nlohmann::json(row.tags).dump(), row.note, row.author, row.time_us).Run();
}

absl::StatusOr<std::optional<AnnotationRow>> AnnotationTable::Find(int64_t job, TrialNumber trial) {
  const absl::StatusOr<bool> there = find_.Bind(job, trial).Next();
  if (!there.ok()) return there.status();
  if (!*there) return std::nullopt;
  absl::StatusOr<AnnotationRow> row = ReadAnnotation(find_);
  find_.Reset();
  if (!row.ok()) return row.status();
  return *std::move(row);
}

absl::StatusOr<std::map<TrialNumber, AnnotationRow>> AnnotationTable::OfTrials(int64_t job, TrialNumber first,
                                                                               TrialNumber last) {
  std::map<TrialNumber, AnnotationRow> rows;
  of_trials_.Bind(job, first, last);
  const absl::Status status = of_trials_.ForEach([&]() -> absl::Status {
    absl::StatusOr<AnnotationRow> row = ReadAnnotation(of_trials_);
    if (row.ok()) rows[of_trials_.Int(0)] = *std::move(row);
    return row.status();
  });
  if (!status.ok()) return status;
  return rows;
}

std::string HasAllTags(std::string_view tags, std::string_view wanted) {
  return fmt::format("NOT EXISTS (SELECT 1 FROM json_each({}) WHERE INSTR({}, '\"' || value || '\"') = 0)",
                     wanted, tags);
}

}  // namespace winnow
