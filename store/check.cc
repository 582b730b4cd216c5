#include "store/check.h"

#include <fmt/format.h>

namespace winnow {
namespace {

// Reports the first column of each row of `sql`.
absl::Status TellRows(Database& database, const char* sql, const TellFinding& tell) {
  Statement rows(database, sql);
  return rows.Bind().ForEach([&] {
    tell(rows.Text(0));
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status CheckFile(Database& database, const TellFinding& tell) {
  Statement pages(database, "PRAGMA integrity_check");
  absl::Status status = pages.Bind().ForEach([&] {
    const std::string text = pages.Text(0);
    if (text != "ok") tell("SQLite: " + text);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  Statement keys(database, "PRAGMA foreign_key_check");
  return keys.Bind().ForEach([&] {
    tell(fmt::format("a row of {} refers to a missing row of {}", keys.Text(0), keys.Text(2)));
    return absl::OkStatus();
  });
}

absl::Status CheckAssignments(Database& database, const TellFinding& tell) {
  constexpr const char* kChecks[] = {
      "SELECT 'assignment ' || id || ': its state is \"' || state || '\"' FROM assignments"
      " WHERE state NOT IN ('wanted', 'revoked', 'drained', 'gone') ORDER BY assignment",
      "SELECT 'assignment ' || id || ': its outcome is \"' || outcome || '\" and its state ' || state"
      " FROM assignments WHERE (state = 'gone') <> (outcome <> '') OR outcome NOT IN"
      " ('', 'finished', 'failed', 'lost', 'handed_back', 'stopped') ORDER BY assignment",
      "SELECT 'assignment ' || a.id || ': is held, but job ' || j.id || ' has ended' FROM assignments a"
      " JOIN jobs j ON j.job = a.job WHERE a.state <> 'gone' AND j.end_us <> 0 ORDER BY a.assignment",
      "SELECT 'assignment ' || a.id || ': is held by worker ' || w.name || ', which is ' || w.state"
      " FROM assignments a JOIN workers w ON w.worker = a.worker"
      " WHERE a.state <> 'gone' AND w.state NOT IN ('live', 'leaving') ORDER BY a.assignment",
      "SELECT 'assignment ' || a.id || ': there is no trial ' || a.trial FROM assignments a WHERE NOT EXISTS"
      " (SELECT 1 FROM trials t WHERE t.job = a.job AND t.trial = a.trial) ORDER BY a.assignment",
      "SELECT 'job ' || j.id || ': trial ' || a.trial || ', attempt ' || a.attempt || ' has ' || COUNT(*) ||"
      " ' ranks, the highest of which is ' || MAX(a.rank) FROM assignments a JOIN jobs j ON j.job = a.job"
      " GROUP BY a.job, a.trial, a.attempt HAVING MIN(a.rank) <> 0 OR MAX(a.rank) <> COUNT(*) - 1"
      " ORDER BY a.job, a.trial, a.attempt",
      "SELECT 'job ' || j.id || ': trial ' || a.trial || ' has live attempts ' || MIN(a.attempt) || ' and ' "
      "||"
      " MAX(a.attempt) FROM assignments a JOIN jobs j ON j.job = a.job WHERE a.state <> 'gone'"
      " GROUP BY a.job, a.trial HAVING MIN(a.attempt) <> MAX(a.attempt) ORDER BY a.job, a.trial",
  };
  for (const char* sql : kChecks) {
    absl::Status status = TellRows(database, sql, tell);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckLooseRows(Database& database, const TellFinding& tell) {
  constexpr const char* kChecks[] = {
      "SELECT 'job ' || j.id || ': there are reports of trial ' || r.trial || ', which is not there'"
      " FROM (SELECT DISTINCT job, trial FROM reports) r JOIN jobs j ON j.job = r.job WHERE NOT EXISTS"
      " (SELECT 1 FROM trials t WHERE t.job = r.job AND t.trial = r.trial) ORDER BY r.job, r.trial",
      "SELECT 'job ' || id || ': its id is not kept as taken' FROM jobs WHERE id NOT IN"
      " (SELECT id FROM taken_ids) ORDER BY job",
      "SELECT 'the file has ' || COUNT(*) || ' identities' FROM identity HAVING COUNT(*) <> 1",
      "SELECT 'artifact ' || a.artifact || ' of job ' || j.id || ': there is no trial ' || a.trial FROM "
      "artifacts a"
      " JOIN jobs j ON j.job = a.job WHERE a.kind <> 'source' AND NOT EXISTS (SELECT 1 FROM trials t WHERE "
      "t.job = a.job AND"
      " t.trial = a.trial) ORDER BY a.artifact",
      "SELECT 'artifact ' || artifact || ': blob ' || digest || ' is not known' FROM artifact_blobs WHERE "
      "digest"
      " NOT IN (SELECT digest FROM blobs) ORDER BY artifact, digest",
      "SELECT 'usage of worker ' || worker || ', which has no name' FROM (SELECT DISTINCT worker FROM "
      "worker_usage)"
      " WHERE worker NOT IN (SELECT worker FROM usage_workers) ORDER BY worker",
      "SELECT 'usage in steps of ' || step || ' s, of which there are none' FROM (SELECT DISTINCT step FROM"
      " worker_usage) WHERE step NOT IN (10, 60, 600) ORDER BY step",
  };
  for (const char* sql : kChecks) {
    absl::Status status = TellRows(database, sql, tell);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace winnow
