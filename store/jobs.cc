#include "store/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "store/annotations.h"

namespace winnow {
namespace {

JobRow ReadJob(const Statement& s) {
  return {s.Int(0), s.Text(1), s.Text(2),  s.Text(3),  s.Text(4),  s.Text(5), s.Int(6),  s.Int(7),
          s.Int(8), s.Text(9), s.Text(10), s.Text(11), s.Text(12), s.Int(13), s.Int(14), s.Int(15)};
}

std::string SelectJobs(const char* rest) {
  return fmt::format(
      "SELECT job, id, request_id, spec, state, reason, create_us, end_us, last_sequence, warm_start,"
      " owner, source, project, new_process_parts, forked_parts, continued_parts FROM jobs {}",
      rest);
}

}  // namespace

JobTable::JobTable(Database& database)
    : database_(database),
      taken_(database, "SELECT 1 FROM taken_ids WHERE id = ?1"),
      take_(database, "INSERT INTO taken_ids (id) VALUES (?1)"),
      insert_(database,
              "INSERT INTO jobs (id, request_id, spec, state, reason, create_us, end_us, last_sequence,"
              " warm_start, owner, source, project)"
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"),
      find_(database, SelectJobs("WHERE id = ?1 AND deleted_us = 0")),
      find_request_(database, SelectJobs("WHERE request_id = ?1")),
      open_(database, SelectJobs("WHERE end_us = 0 AND deleted_us = 0 ORDER BY job")),
      ended_(database,
             SelectJobs("WHERE end_us > 0 AND end_us < ?1 AND deleted_us = 0 ORDER BY job LIMIT ?2")),
      beyond_(database, SelectJobs("WHERE job IN (SELECT r.job FROM (SELECT job, ROW_NUMBER() OVER"
                                   " (PARTITION BY project ORDER BY end_us DESC, job DESC) AS place FROM jobs"
                                   " WHERE end_us > 0 AND deleted_us = 0) AS r WHERE r.place > ?1)"
                                   " ORDER BY job LIMIT ?2")),
      storing_(database,
               SelectJobs("WHERE end_us > 0 AND deleted_us = 0 AND job IN (SELECT job FROM artifacts)"
                          " ORDER BY end_us, job LIMIT ?1")),
      was_deleted_(database,
                   "SELECT 1 FROM taken_ids t WHERE t.id = ?1 AND NOT EXISTS"
                   " (SELECT 1 FROM jobs j WHERE j.id = ?1 AND j.deleted_us = 0)"),
      list_(database, SelectJobs("WHERE job < ?1 AND deleted_us = 0 ORDER BY job DESC LIMIT ?2")),
      last_sequence_(database, "SELECT last_sequence FROM jobs WHERE job = ?1"),
      update_(database,
              "UPDATE jobs SET last_sequence = ?2, new_process_parts = ?3, forked_parts = ?4,"
              " continued_parts = ?5 WHERE job = ?1"),
      // Apart, because it writes to the indexes of the state too, and most transactions do not change that.
      update_state_(database,
                    "UPDATE jobs SET state = ?2, reason = ?3, end_us = ?4"
                    " WHERE job = ?1 AND (state <> ?2 OR reason <> ?3 OR end_us <> ?4)"),
      delete_(database, "DELETE FROM jobs WHERE job = ?1") {}

// Steps of twice the length find a number that is free, and halves of the last step the end of those taken.
absl::StatusOr<std::string> JobTable::FreeId(const std::string& name, const std::string& project) {
  const auto id_of = [&](int64_t n) {
    return (n == 1 ? name : fmt::format("{}-{}", name, n)) + (project.empty() ? "" : kProjectMark + project);
  };
  int64_t taken = 0, vacant = 0;  // 0: none is known yet
  while (vacant != taken + 1) {
    const int64_t n = vacant == 0 ? std::max<int64_t>(2 * taken, 1) : (taken + vacant) / 2;
    const absl::StatusOr<bool> row = taken_.Bind(id_of(n)).Next();
    if (!row.ok()) return row.status();
    taken_.Reset();
    (*row ? taken : vacant) = n;
  }
  return id_of(vacant);
}

absl::StatusOr<JobRow> JobTable::Insert(const std::string& name, JobRow row) {
  absl::StatusOr<std::string> id = FreeId(name, row.project);
  if (!id.ok()) return id.status();
  row.id = *std::move(id);
  absl::Status status = take_.Bind(row.id).Run();
  if (!status.ok()) return status;
  std::optional<std::string> request;
  if (!row.request_id.empty()) request = row.request_id;
  status = insert_
               .Bind(row.id, request, row.spec, row.state, row.reason, row.create_us, row.end_us,
                     row.last_sequence, row.warm_start, row.owner, row.source, row.project)
               .Run();
  if (!status.ok()) return status;
  absl::StatusOr<int64_t> key = database_.LastInsertKey();
  if (!key.ok()) return key.status();
  row.key = *key;
  Statement add_words(
      database_, "INSERT INTO job_words (job, words) SELECT job, words FROM words_of_jobs WHERE job = ?1");
  status = add_words.Bind(row.key).Run();
  if (!status.ok()) return status;
  return row;
}

absl::StatusOr<std::optional<JobRow>> JobTable::One(Statement& statement) {
  absl::StatusOr<bool> there = statement.Next();
  if (!there.ok()) return there.status();
  if (!*there) return std::nullopt;
  JobRow row = ReadJob(statement);
  statement.Reset();
  return row;
}

absl::StatusOr<std::vector<JobRow>> JobTable::All(Statement& statement) {
  std::vector<JobRow> rows;
  absl::Status status = statement.ForEach([&] {
    rows.push_back(ReadJob(statement));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return rows;
}

absl::StatusOr<std::optional<JobRow>> JobTable::Find(const std::string& id) { return One(find_.Bind(id)); }

absl::StatusOr<std::optional<JobRow>> JobTable::FindRequest(const std::string& request_id) {
  return One(find_request_.Bind(request_id));
}

absl::StatusOr<std::vector<JobRow>> JobTable::Open() { return All(open_.Bind()); }

absl::StatusOr<std::vector<JobRow>> JobTable::EndedBefore(int64_t time_us, int64_t limit) {
  return All(ended_.Bind(time_us, limit));
}

absl::StatusOr<std::vector<JobRow>> JobTable::BeyondNewest(int64_t number, int64_t limit) {
  return All(beyond_.Bind(number, limit));
}

absl::StatusOr<std::vector<JobRow>> JobTable::EndedWithArtifacts(int64_t limit) {
  return All(storing_.Bind(limit));
}

absl::StatusOr<bool> JobTable::WasDeleted(const std::string& id) {
  const absl::StatusOr<bool> row = was_deleted_.Bind(id).Next();
  was_deleted_.Reset();
  return row;
}

absl::StatusOr<std::vector<JobRow>> JobTable::List(int64_t before, int64_t limit, const JobFilter& filter) {
  if (filter.tags.empty() && filter.states.empty() && filter.search.empty() && !filter.projects)
    return All(list_.Bind(before, limit));
  // First the keys, from narrow tables and an index. ?3: the filter as JSON.
  std::string where = "j.job < ?1 AND j.deleted_us = 0";
  if (!filter.states.empty()) where += " AND j.state IN (SELECT value FROM json_each(?3, '$.states'))";
  if (filter.projects) where += " AND j.project IN (SELECT value FROM json_each(?3, '$.projects'))";
  if (!filter.tags.empty()) {
    where += fmt::format(" AND j.job IN (SELECT a.job FROM annotations a WHERE a.trial = 0 AND {})",
                         HasAllTags("a.tags", "?3, '$.tags'"));
  }
  if (!filter.search.empty()) {
    where +=
        " AND (j.job IN (SELECT w.job FROM job_words w"
        " WHERE INSTR(w.words, json_extract(?3, '$.search')) > 0)"
        " OR j.job IN (SELECT a.job FROM annotations a WHERE a.trial = 0"
        " AND INSTR(LOWER(a.tags || '\n' || a.note), json_extract(?3, '$.search')) > 0))";
  }
  const nlohmann::json wanted = {{"states", filter.states},
                                 {"tags", filter.tags},
                                 {"search", absl::AsciiStrToLower(filter.search)},  // see SignInTable
                                 {"projects", filter.projects.value_or(std::vector<std::string>())}};
  Statement list(database_, SelectJobs(fmt::format("WHERE job IN (SELECT j.job FROM jobs j WHERE {}"
                                                   " ORDER BY j.job DESC LIMIT ?2) ORDER BY job DESC",
                                                   where)
                                           .c_str()));
  return All(list.Bind(before, limit, wanted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

absl::StatusOr<int64_t> JobTable::LastSequence(int64_t key) {
  const absl::StatusOr<bool> there = last_sequence_.Bind(key).Next();
  if (!there.ok()) return there.status();
  const int64_t sequence = *there ? last_sequence_.Int(0) : 0;
  last_sequence_.Reset();
  return sequence;
}

absl::Status JobTable::Update(const JobRow& row) {
  absl::Status status =
      update_.Bind(row.key, row.last_sequence, row.new_process_parts, row.forked_parts, row.continued_parts)
          .RunLater();
  if (!status.ok()) return status;
  return update_state_.Bind(row.key, row.state, row.reason, row.end_us).RunLater();
}

absl::Status JobTable::Delete(int64_t key) { return delete_.Bind(key).Run(); }

}  // namespace winnow
