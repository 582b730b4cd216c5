#include "store/usage.h"

#include <algorithm>
#include <cmath>

namespace winnow {
namespace {

constexpr double kThousand = 1'000;
constexpr double kMibPerGib = 1'024;
// How late a sample may arrive and still count in every step: workers keep theirs for about as long.
constexpr int64_t kLatenessS = 300;
// A worker's name is kept longer than its steps.
constexpr int64_t kNameKeptS = kUsageLevels.back().kept_s + 2 * 86'400;
// Ranks whose rows are deleted at a time, so that no batch waits for many.
constexpr int kMostForgotten = 100;

int64_t Thousandths(double value) { return std::llround(value * kThousand); }

int64_t Floor(int64_t seconds, int64_t step_s) { return seconds - seconds % step_s; }

}  // namespace

int64_t AssignmentStepSeconds(int64_t elapsed_s) {
  int64_t step_s = kUsageLevels.front().step_s;
  while (elapsed_s >= step_s * kMostAssignmentSteps) step_s *= 2;
  return step_s;
}

UsageTable::UsageTable(Database& database)
    : put_worker_(database,
                  "INSERT INTO usage_workers (name, host, slots, seen_s) VALUES (?1, ?2, ?3, ?4)"
                  " ON CONFLICT (name) DO UPDATE SET host = ?2, slots = ?3, seen_s = ?4"),
      worker_key_(database, "SELECT worker FROM usage_workers WHERE name = ?1"),
      workers_(database, "SELECT worker, name, host, slots FROM usage_workers ORDER BY name"),
      forget_workers_(database, "DELETE FROM usage_workers WHERE seen_s < ?1"),
      put_step_(database,
                "INSERT INTO worker_usage (step, start_s, worker, cpu, memory, slots)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING"),
      newest_(database, "SELECT MAX(start_s) FROM worker_usage WHERE step = ?1"),
      roll_up_(database,
               "INSERT OR REPLACE INTO worker_usage (step, start_s, worker, cpu, memory, slots)"
               " SELECT CAST(?2 AS INTEGER), start_s - start_s % ?2, worker, CAST(ROUND(AVG(cpu)) AS "
               "INTEGER), MAX(memory),"
               " CAST(ROUND(AVG(slots)) AS INTEGER) FROM worker_usage"
               " WHERE step = ?1 AND start_s >= ?3 AND start_s < ?4 GROUP BY 2, 3"),
      forget_steps_(database, "DELETE FROM worker_usage WHERE step = ?1 AND start_s < ?2"),
      steps_(database,
             "SELECT start_s, worker, cpu, memory, slots FROM worker_usage"
             " WHERE step = ?1 AND start_s >= ?2 AND start_s < ?3 ORDER BY start_s, worker"),
      put_rank_(database,
                "INSERT INTO assignment_usage (assignment, second, cpus, memory) VALUES (?1, ?2, ?3, ?4)"
                " ON CONFLICT DO NOTHING"),
      merge_(
          database,
          "INSERT OR REPLACE INTO assignment_usage (assignment, second, cpus, memory)"
          " SELECT CAST(?1 AS INTEGER), second - second % ?2, CAST(ROUND(AVG(cpus)) AS INTEGER), MAX(memory)"
          " FROM assignment_usage WHERE assignment = ?1 GROUP BY 2"),
      drop_merged_(database, "DELETE FROM assignment_usage WHERE assignment = ?1 AND second % ?2 <> 0"),
      of_assignment_(
          database,
          "SELECT second, cpus, memory FROM assignment_usage WHERE assignment = ?1 ORDER BY second"),
      oldest_rank_(database,
                   "SELECT assignment, place_us FROM assignments"
                   " WHERE assignment = (SELECT MIN(assignment) FROM assignment_usage)"),
      forget_rank_(database, "DELETE FROM assignment_usage WHERE assignment = ?1") {}

absl::StatusOr<int64_t> UsageTable::PutWorker(const std::string& name, const std::string& host, int32_t slots,
                                              int64_t now_s) {
  absl::Status status = put_worker_.Bind(name, host, slots, now_s).Run();
  if (!status.ok()) return status;
  absl::StatusOr<bool> row = worker_key_.Bind(name).Next();
  if (!row.ok()) return row.status();
  const int64_t key = worker_key_.Int(0);
  worker_key_.Reset();
  return key;
}

absl::StatusOr<std::vector<UsageWorker>> UsageTable::Workers() {
  std::vector<UsageWorker> workers;
  Statement& s = workers_.Bind();
  absl::Status status = s.ForEach([&] {
    workers.push_back({s.Int(0), s.Text(1), s.Text(2), static_cast<int32_t>(s.Int(3))});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return workers;
}

absl::Status UsageTable::Put(const WorkerStep& step) {
  return put_step_
      .Bind(kUsageLevels.front().step_s, step.start_s, step.worker, Thousandths(step.cpu),
            Thousandths(step.memory), Thousandths(step.slots))
      .RunLater();
}

absl::Status UsageTable::RollUp(int64_t now_s) {
  for (size_t level = 1; level < kUsageLevels.size(); ++level) {
    absl::Status status = RollUp(kUsageLevels[level - 1], kUsageLevels[level], now_s);
    if (!status.ok()) return status;
  }
  for (const UsageLevel& level : kUsageLevels) {
    absl::Status status = forget_steps_.Bind(level.step_s, now_s - level.kept_s - level.step_s).Run();
    if (!status.ok()) return status;
  }
  absl::Status status = forget_workers_.Bind(now_s - kNameKeptS).Run();
  if (!status.ok()) return status;
  return ForgetAssignments((now_s - kUsageLevels.back().kept_s) * 1'000'000);
}

absl::Status UsageTable::RollUp(const UsageLevel& fine, const UsageLevel& coarse, int64_t now_s) {
  absl::StatusOr<int64_t> end = EndOf(coarse);
  if (!end.ok()) return end.status();
  const int64_t known = *end > 0 ? *end : now_s - fine.kept_s;
  const int64_t from = Floor(std::min(known, now_s - kLatenessS - fine.step_s), coarse.step_s);
  return roll_up_.Bind(fine.step_s, coarse.step_s, from, Floor(now_s, coarse.step_s)).Run();
}

absl::StatusOr<int64_t> UsageTable::EndOf(const UsageLevel& level) {
  absl::StatusOr<bool> row = newest_.Bind(level.step_s).Next();
  if (!row.ok()) return row.status();
  const int64_t end = newest_.IsNull(0) ? 0 : newest_.Int(0) + level.step_s;
  newest_.Reset();
  return end;
}

absl::StatusOr<std::vector<WorkerStep>> UsageTable::Steps(const UsageLevel& level, int64_t from_s,
                                                          int64_t to_s) {
  std::vector<WorkerStep> steps;
  Statement& s = steps_.Bind(level.step_s, from_s, to_s);
  const auto value = [&s](int column) { return static_cast<double>(s.Int(column)) / kThousand; };
  absl::Status status = s.ForEach([&] {
    steps.push_back({s.Int(0), s.Int(1), value(2), value(3), value(4)});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return steps;
}

absl::Status UsageTable::Put(int64_t assignment, const AssignmentStep& step) {
  return put_rank_
      .Bind(assignment, step.second, Thousandths(step.cpus),
            static_cast<int64_t>(std::llround(step.memory_gib * kMibPerGib)))
      .RunLater();
}

absl::Status UsageTable::Coarsen(int64_t assignment, int64_t step_s) {
  absl::Status status = merge_.Bind(assignment, step_s).Run();
  if (!status.ok()) return status;
  return drop_merged_.Bind(assignment, step_s).Run();
}

absl::StatusOr<std::vector<AssignmentStep>> UsageTable::OfAssignment(int64_t assignment) {
  std::vector<AssignmentStep> steps;
  Statement& s = of_assignment_.Bind(assignment);
  absl::Status status = s.ForEach([&] {
    steps.push_back(
        {s.Int(0), static_cast<double>(s.Int(1)) / kThousand, static_cast<double>(s.Int(2)) / kMibPerGib});
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return steps;
}

// Assignments are numbered in the order of their placement.
absl::Status UsageTable::ForgetAssignments(int64_t before_us) {
  for (int i = 0; i < kMostForgotten; ++i) {
    absl::StatusOr<bool> row = oldest_rank_.Bind().Next();
    if (!row.ok()) return row.status();
    const bool old = *row && oldest_rank_.Int(1) < before_us;
    const int64_t assignment = *row ? oldest_rank_.Int(0) : 0;
    oldest_rank_.Reset();
    if (!old) break;
    absl::Status status = forget_rank_.Bind(assignment).Run();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace winnow
