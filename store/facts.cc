#include "store/facts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/check.h"
#include "store/fact_codec.h"

namespace winnow {
namespace {

// Parts of trials whose highest reported level is remembered.
constexpr size_t kMostHighest = 100'000;

// SQLite has no NaN: it is stored as NULL.
double ReadValue(const Statement& s, int column) {
  return s.IsNull(column) ? std::numeric_limits<double>::quiet_NaN() : s.Real(column);
}

// Smaller than a Fact, because there may be millions.
struct ReportFact {
  int64_t sequence;
  int64_t time_us;
  Reported body;
};

// Returns the indices of `reports` by rising sequence.
std::vector<uint32_t> BySequence(const std::vector<ReportFact>& reports) {
  std::vector<uint32_t> order(reports.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return reports[a].sequence < reports[b].sequence; });
  return order;
}

// Where rows are sent later, those that are there are known beforehand (IsNew). PostgreSQL takes 1.6 times as
// long for a row if it has to look for conflicts itself.
std::string InsertOfReports(const Database& database) {
  return std::string(database.runs_later() ? "INSERT INTO" : "INSERT OR IGNORE INTO") +
         " reports (job, trial, attempt, resource, metric, value, time_us, sequence, ranking)"
         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
}

}  // namespace

FactTable::FactTable(Database& database)
    : database_(database),
      event_(
          database,
          "INSERT INTO events (job, sequence, time_us, kind, trial, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
      report_(database, InsertOfReports(database)),
      load_(database,
            "SELECT sequence, time_us, kind, trial, detail, 0, 0, 0, 0 FROM events"
            " WHERE job = ?1 AND sequence > ?2"
            " UNION ALL "
            "SELECT sequence, time_us, 'reported', trial, '', attempt, resource, value, ranking FROM reports"
            " WHERE job = ?1 AND sequence > ?2 AND sequence > 0"
            " ORDER BY 1 LIMIT ?3"),
      load_trial_(
          database,
          "SELECT sequence, time_us, kind, trial, detail, 0, 0, 0, 0 FROM events INDEXED BY events_of_trial"
          " WHERE job = ?1 AND trial = ?2"
          " UNION ALL "
          // "+" avoids the index by sequence, which would visit the reports of all trials.
          "SELECT +sequence, time_us, 'reported', trial, '', attempt, resource, value, ranking FROM reports"
          " WHERE job = ?1 AND trial = ?2 AND +sequence > 0"
          " ORDER BY 1"),
      // In order of sequence, to use that index: by trial, SQLite would scan those of the whole job.
      changed_events_(
          database,
          "SELECT trial FROM events WHERE job = ?1 AND sequence > ?2 AND +trial > 0 ORDER BY sequence"),
      changed_reports_(
          database,
          "SELECT trial FROM reports WHERE job = ?1 AND sequence > ?2 AND sequence > 0 ORDER BY sequence"),
      cuts_(database,
            "SELECT sequence, time_us, kind, trial, detail, 0, 0, 0, 0 FROM events"
            " WHERE job = ?1 AND sequence > ?2 AND kind = 'rung_cut' ORDER BY sequence"),
      ranges_(
          database,
          "SELECT sequence, time_us, kind, trial, detail, 0, 0, 0, 0 FROM events INDEXED BY events_of_trial"
          " WHERE job = ?1 AND trial = 0 AND kind = 'range_changed' ORDER BY sequence"),
      kept_(database,
            "SELECT sequence, time_us, kind, trial, detail, 0, 0, 0, 0 FROM events INDEXED BY events_of_kept"
            " WHERE job = ?1 AND kind = 'trial_kept' ORDER BY sequence"),
      points_(database,
              "SELECT trial, resource, value FROM reports WHERE job = ?1 AND metric = ?2"
              " ORDER BY trial, attempt, resource"),
      points_of_(database,
                 "SELECT resource, value FROM reports WHERE job = ?1 AND metric = ?2 AND trial = ?3"
                 " ORDER BY attempt, resource"),
      metrics_of_(database,
                  "SELECT DISTINCT metric FROM reports WHERE job = ?1 AND trial = ?2 ORDER BY metric"),
      events_(database,
              "SELECT sequence, time_us, kind, trial, detail FROM events WHERE job = ?1 ORDER BY sequence"),
      // In the order of the table's key, which differs from that of the facts.
      reports_(database,
               "SELECT sequence, time_us, trial, attempt, resource, value, ranking FROM reports"
               " WHERE job = ?1 AND sequence > 0 ORDER BY trial, attempt, resource, metric"),
      find_report_(database,
                   "SELECT value, time_us, sequence, ranking FROM reports"
                   " WHERE job = ?1 AND trial = ?2 AND attempt = ?3 AND resource = ?4 AND metric = ?5"),
      highest_report_(database,
                      "SELECT MAX(resource) FROM reports"
                      " WHERE job = ?1 AND trial = ?2 AND attempt = ?3 AND metric = ?4"),
      query_(database,
             // The columns beside MIN are those of its row.
             "SELECT trial, MIN(attempt), resource, metric, value, time_us, sequence FROM reports"
             " WHERE job = ?1 AND trial >= ?3 AND trial <= ?6 AND (trial, metric, resource) > (?3, ?4, ?5)"
             " AND (?2 = '[]' OR metric IN (SELECT value FROM json_each(?2)))"
             " GROUP BY trial, metric, resource ORDER BY trial, metric, resource LIMIT ?7") {}

absl::Status FactTable::AppendEvent(int64_t job, const Fact& fact) {
  WINNOW_CHECK(!std::holds_alternative<Reported>(fact.body), "reports have a table of their own");
  StoredFact stored = EncodeFact(fact);
  return event_.Bind(job, fact.sequence, fact.time_us, stored.kind, stored.trial, stored.detail).RunLater();
}

absl::StatusOr<bool> FactTable::AppendReport(int64_t job, const ReportRow& row) {
  std::optional<double> value;
  if (!std::isnan(row.value)) value = row.value;
  if (database_.runs_later()) {
    absl::StatusOr<bool> is_new = IsNew(job, row);
    if (!is_new.ok() || !*is_new) return is_new;
  }
  report_.Bind(job, row.trial, row.attempt, row.resource, row.metric, value, row.time_us, row.sequence,
               row.ranking);
  if (database_.runs_later()) {
    absl::Status status = report_.RunLater();
    if (!status.ok()) return status;
    return true;
  }
  absl::Status status = report_.Run();
  if (!status.ok()) return status;
  return database_.changes() == 1;
}

absl::StatusOr<bool> FactTable::IsNew(int64_t job, const ReportRow& row) {
  if (rollbacks_ != database_.rollbacks() || highest_.size() > kMostHighest) highest_.clear();
  rollbacks_ = database_.rollbacks();
  auto [known, first] = highest_.try_emplace({job, row.trial, row.attempt, row.metric}, 0);
  if (first) {
    absl::StatusOr<bool> there = highest_report_.Bind(job, row.trial, row.attempt, row.metric).Next();
    if (!there.ok()) {
      highest_.erase(known);
      return there.status();
    }
    known->second = highest_report_.IsNull(0) ? std::numeric_limits<int64_t>::min() : highest_report_.Int(0);
    highest_report_.Reset();
  }
  if (row.resource > known->second) {
    known->second = row.resource;
    return true;
  }
  absl::StatusOr<std::optional<ReportRow>> report =
      FindReport(job, row.trial, row.attempt, row.resource, row.metric);
  if (!report.ok()) return report.status();
  return !report->has_value();
}

absl::StatusOr<std::vector<Fact>> FactTable::ReadAll(Statement& s) {
  std::vector<Fact> facts;
  absl::Status status = s.ForEach([&]() -> absl::Status {
    std::string kind = s.Text(2);
    Fact fact;
    if (kind == "reported") {
      fact.body = Reported{s.Int(3), s.Int(5), s.Int(6), ReadValue(s, 7), s.Int(8)};
    } else {
      absl::StatusOr<Fact> decoded = DecodeFact({std::move(kind), s.Int(3), s.Text(4)});
      if (!decoded.ok()) return decoded.status();
      fact = *std::move(decoded);
    }
    fact.sequence = s.Int(0);
    fact.time_us = s.Int(1);
    facts.push_back(std::move(fact));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return facts;
}

absl::StatusOr<std::vector<Fact>> FactTable::Load(int64_t job, int64_t after, int64_t limit) {
  return ReadAll(load_.Bind(job, after, limit));
}

absl::Status FactTable::ForEach(int64_t job, const std::function<absl::Status(const Fact&)>& take) {
  std::vector<ReportFact> reports;
  reports_.Bind(job);
  absl::Status status = reports_.ForEach([&] {
    reports.push_back({reports_.Int(0), reports_.Int(1),
                       Reported{reports_.Int(2), reports_.Int(3), reports_.Int(4), ReadValue(reports_, 5),
                                reports_.Int(6)}});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  const std::vector<uint32_t> order = BySequence(reports);
  auto next = order.begin();
  // Passes on the reports below `sequence`.
  auto pass = [&](int64_t sequence) -> absl::Status {
    for (; next != order.end() && reports[*next].sequence < sequence; ++next) {
      const ReportFact& report = reports[*next];
      absl::Status taken = take({report.sequence, report.time_us, report.body});
      if (!taken.ok()) return taken;
    }
    return absl::OkStatus();
  };
  events_.Bind(job);
  status = events_.ForEach([&]() -> absl::Status {
    absl::Status passed = pass(events_.Int(0));
    if (!passed.ok()) return passed;
    absl::StatusOr<Fact> fact = DecodeFact({events_.Text(2), events_.Int(3), events_.Text(4)});
    if (!fact.ok()) return fact.status();
    fact->sequence = events_.Int(0);
    fact->time_us = events_.Int(1);
    return take(*fact);
  });
  if (!status.ok()) return status;
  return pass(std::numeric_limits<int64_t>::max());
}

absl::StatusOr<std::vector<TrialNumber>> FactTable::ChangedTrials(int64_t job, int64_t after) {
  std::vector<TrialNumber> trials;
  for (Statement* changed : {&changed_events_, &changed_reports_}) {
    const absl::Status status = changed->Bind(job, after).ForEach([&] {
      trials.push_back(changed->Int(0));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
  }
  std::sort(trials.begin(), trials.end());
  trials.erase(std::unique(trials.begin(), trials.end()), trials.end());
  return trials;
}

absl::Status FactTable::ForEachPoint(int64_t job, const std::string& metric,
                                     const std::function<void(TrialNumber, int64_t, double)>& take) {
  return points_.Bind(job, metric).ForEach([&] {
    take(points_.Int(0), points_.Int(1), ReadValue(points_, 2));
    return absl::OkStatus();
  });
}

absl::Status FactTable::ForEachPointOf(int64_t job, const std::string& metric, TrialNumber trial,
                                       const std::function<void(int64_t, double)>& take) {
  return points_of_.Bind(job, metric, trial).ForEach([&] {
    take(points_of_.Int(0), ReadValue(points_of_, 1));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<std::string>> FactTable::MetricsOf(int64_t job, TrialNumber trial) {
  std::vector<std::string> metrics;
  const absl::Status status = metrics_of_.Bind(job, trial).ForEach([&] {
    metrics.push_back(metrics_of_.Text(0));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return metrics;
}

absl::StatusOr<std::vector<Fact>> FactTable::LoadCuts(int64_t job, int64_t after) {
  return ReadAll(cuts_.Bind(job, after));
}

absl::StatusOr<std::vector<Fact>> FactTable::LoadRangeChanges(int64_t job) {
  return ReadAll(ranges_.Bind(job));
}

absl::StatusOr<std::vector<Fact>> FactTable::LoadKept(int64_t job) { return ReadAll(kept_.Bind(job)); }

absl::StatusOr<std::vector<Fact>> FactTable::LoadTrial(int64_t job, TrialNumber trial) {
  return ReadAll(load_trial_.Bind(job, trial));
}

absl::StatusOr<std::optional<ReportRow>> FactTable::FindReport(int64_t job, TrialNumber trial,
                                                               int64_t attempt, int64_t resource,
                                                               const std::string& metric) {
  absl::StatusOr<bool> there = find_report_.Bind(job, trial, attempt, resource, metric).Next();
  if (!there.ok()) return there.status();
  if (!*there) return std::nullopt;
  ReportRow row{trial,
                attempt,
                resource,
                metric,
                ReadValue(find_report_, 0),
                find_report_.Int(1),
                find_report_.Int(2),
                find_report_.Int(3)};
  find_report_.Reset();
  return row;
}

absl::StatusOr<std::vector<ReportRow>> FactTable::Query(int64_t job, const std::vector<TrialNumber>& trials,
                                                        const std::vector<std::string>& metrics,
                                                        const ReportCursor& cursor, int64_t limit) {
  constexpr TrialNumber kLast = std::numeric_limits<TrialNumber>::max();
  const std::string wanted =
      nlohmann::json(metrics).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::vector<ReportRow> rows;
  // Adds those after `from` of trials up to `end`. They are sorted in memory, so `end` bounds how many.
  const auto take = [&](const ReportCursor& from, TrialNumber end) {
    query_.Bind(job, wanted, from.trial, from.metric, from.resource, end,
                limit - static_cast<int64_t>(rows.size()));
    return query_.ForEach([&] {
      rows.push_back({query_.Int(0), query_.Int(1), query_.Int(2), query_.Text(3), ReadValue(query_, 4),
                      query_.Int(5), query_.Int(6)});
      return absl::OkStatus();
    });
  };
  const auto full = [&] { return static_cast<int64_t>(rows.size()) >= limit; };
  for (const TrialNumber trial : std::set<TrialNumber>(trials.begin(), trials.end())) {
    if (trial < cursor.trial || full()) continue;
    const absl::Status status = take(trial == cursor.trial ? cursor : ReportCursor{trial, "", 0}, trial);
    if (!status.ok()) return status;
  }
  Statement ends(database_,
                 "SELECT trial FROM reports WHERE job = ?1 AND trial >= ?2 ORDER BY trial LIMIT 1 OFFSET ?3");
  ReportCursor from = cursor;
  for (TrialNumber end = 0; trials.empty() && end != kLast && !full();) {
    if (end > 0) from = {end + 1, "", 0};
    const absl::StatusOr<bool> more = ends.Bind(job, from.trial, limit).Next();
    if (!more.ok()) return more.status();
    end = *more ? ends.Int(0) : kLast;
    ends.Reset();
    const absl::Status status = take(from, end);
    if (!status.ok()) return status;
  }
  return rows;
}

}  // namespace winnow
