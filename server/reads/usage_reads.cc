// Reads::GetWorkerUsage and Reads::GetTrialUsage: the steps of store/usage.h as columns.

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "server/engine/answers/requester.h"
#include "server/reads/reads.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

constexpr double kDefaultSeconds = 3'600;
constexpr int32_t kDefaultPoints = 120;
constexpr int32_t kDefaultTrialPoints = 200;
constexpr int32_t kMostPoints = 1'000;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

absl::StatusOr<int32_t> Points(int32_t asked, int32_t otherwise) {
  if (asked == 0) return otherwise;
  if (asked >= 1 && asked <= kMostPoints) return asked;
  return absl::InvalidArgumentError(
      fmt::format("max_points: {} is not valid; expected 0 to {}", asked, kMostPoints));
}

// The steps of an answer: `count` steps of `step_s`, the first at `start_s`.
struct Grid {
  size_t level = 0;  // index in kUsageLevels: the finest level that may cover the whole time
  int64_t start_s = 0;
  int64_t step_s = 0;
  int64_t count = 0;
  int64_t end_s() const { return start_s + count * step_s; }
};

Grid GridOf(double seconds, int64_t points, int64_t now_s) {
  const auto span_s = static_cast<int64_t>(std::ceil(seconds));
  Grid grid;
  while (kUsageLevels[grid.level].kept_s < span_s) ++grid.level;
  const int64_t base_s = kUsageLevels[grid.level].step_s;
  const auto steps = [span_s](int64_t step_s) { return (span_s + step_s - 1) / step_s; };
  grid.step_s = base_s * ((steps(base_s) + points - 1) / points);
  grid.count = steps(grid.step_s);
  grid.start_s = (now_s / grid.step_s + 1 - grid.count) * grid.step_s;
  return grid;
}

// A point accumulated from steps.
struct Point {
  double time = 0;  // sum of the steps, in seconds
  double mean = 0;  // sum of value times seconds
  double highest = 0;
  double slots = 0;  // as mean

  void Add(double seconds, double value, double peak, double held) {
    time += seconds;
    mean += value * seconds;
    highest = std::max(highest, peak);
    slots += held * seconds;
  }
};

// Calls `add(step, seconds)` for the known steps: for each part of the time the finest of the grid's level
// and those above, because the newest coarse steps are not made yet.
absl::Status ReadSteps(UsageTable& table, const Grid& grid,
                       const std::function<void(const WorkerStep&, int64_t)>& add) {
  int64_t from_s = grid.start_s;
  for (size_t level = grid.level + 1; level-- > 0;) {
    absl::StatusOr<int64_t> end_s = table.EndOf(kUsageLevels[level]);
    if (!end_s.ok()) return end_s.status();
    const int64_t to_s = std::min(*end_s, grid.end_s());
    if (to_s <= from_s) continue;
    absl::StatusOr<std::vector<WorkerStep>> steps = table.Steps(kUsageLevels[level], from_s, to_s);
    if (!steps.ok()) return steps.status();
    for (const WorkerStep& step : *steps) add(step, kUsageLevels[level].step_s);
    from_s = to_s;
  }
  return absl::OkStatus();
}

void FillRank(std::vector<AssignmentStep> steps, const AssignmentRow& row, int64_t points,
              v1::RankUsage& usage) {
  const int64_t begin_us = row.start_us > 0 ? row.start_us : row.place_us;
  const double late_s = static_cast<double>(begin_us - row.place_us) / 1e6;
  const size_t merged = (steps.size() + points - 1) / points;
  for (size_t first = 0; first < steps.size(); first += merged) {
    Point point;
    for (size_t i = first; i < std::min(steps.size(), first + merged); ++i) {
      point.Add(1, steps[i].cpus, steps[i].memory_gib, 0);
    }
    usage.add_elapsed_seconds(std::max(0.0, static_cast<double>(steps[first].second) - late_s));
    usage.add_cpus(point.mean / point.time);
    usage.add_memory_gib(point.highest);
  }
}

}  // namespace

absl::StatusOr<v1::GetWorkerUsageResponse> Reads::GetWorkerUsage(const v1::GetWorkerUsageRequest& request) {
  const auto most_seconds = static_cast<double>(kUsageLevels.back().kept_s);
  const double seconds = request.seconds() == 0 ? kDefaultSeconds : request.seconds();
  if (!(seconds > 0 && seconds <= most_seconds)) {
    return absl::InvalidArgumentError(
        fmt::format("seconds: {} is not valid; expected 0 to {} (30 days)", request.seconds(), most_seconds));
  }
  absl::StatusOr<int32_t> points = Points(request.max_points(), kDefaultPoints);
  if (!points.ok()) return points.status();
  const Grid grid = GridOf(seconds, *points, clock_.wall_us() / 1'000'000);
  std::map<int64_t, std::vector<Point>> by_worker;
  std::vector<UsageWorker> workers;
  absl::Status status = store_.Read([&]() -> absl::Status {
    absl::StatusOr<std::vector<UsageWorker>> all = store_.usage.Workers();
    if (!all.ok()) return all.status();
    workers = *std::move(all);
    return ReadSteps(store_.usage, grid, [&](const WorkerStep& step, int64_t step_s) {
      std::vector<Point>& row = by_worker[step.worker];
      row.resize(grid.count);
      row[(step.start_s - grid.start_s) / grid.step_s].Add(static_cast<double>(step_s), step.cpu, step.memory,
                                                           step.slots);
    });
  });
  if (!status.ok()) return status;
  v1::GetWorkerUsageResponse response;
  *response.mutable_start_time() = TimeUtil::SecondsToTimestamp(grid.start_s);
  response.set_step_seconds(static_cast<double>(grid.step_s));
  for (const UsageWorker& worker : workers) {
    const auto found = by_worker.find(worker.key);
    if (found == by_worker.end()) continue;
    v1::WorkerUsage& usage = *response.add_workers();
    usage.set_worker(worker.name);
    usage.set_host(worker.host);
    usage.set_slots(worker.slots);
    for (const Point& point : found->second) {
      const bool known = point.time > 0;
      usage.add_cpu(known ? point.mean / point.time : kUnknown);
      usage.add_memory(known ? point.highest : kUnknown);
      usage.add_slots_used(known ? point.slots / point.time : kUnknown);
    }
  }
  return response;
}

absl::StatusOr<v1::GetTrialUsageResponse> Reads::GetTrialUsage(const v1::GetTrialUsageRequest& request) {
  absl::StatusOr<int32_t> points = Points(request.max_points(), kDefaultTrialPoints);
  if (!points.ok()) return points.status();
  v1::GetTrialUsageResponse response;
  absl::Status status = store_.Read([&]() -> absl::Status {
    absl::StatusOr<std::optional<JobRow>> job = store_.jobs.Find(request.job_id());
    if (!job.ok()) return job.status();
    if (!*job) return NoJob(request.job_id());
    absl::StatusOr<std::optional<TrialRow>> trial = store_.trials.Find((*job)->key, request.trial());
    if (!trial.ok()) return trial.status();
    if (!*trial) {
      return NoTrial(request.job_id(), request.trial());
    }
    absl::StatusOr<std::vector<AssignmentRow>> ranks =
        store_.assignments.OfTrial((*job)->key, request.trial());
    if (!ranks.ok()) return ranks.status();
    absl::StatusOr<std::vector<WorkerRow>> rows = store_.workers.OfTrial((*job)->key, request.trial());
    if (!rows.ok()) return rows.status();
    std::map<std::string, const WorkerRow*> workers;
    for (const WorkerRow& row : *rows) workers[row.id] = &row;
    const int64_t newest = ranks->empty() ? 0 : ranks->back().attempt;
    if (request.attempt() < 0 || request.attempt() > newest) {
      return absl::NotFoundError(
          fmt::format("attempt: trial {} of job \"{}\" has no attempt {}; it has had {}", request.trial(),
                      request.job_id(), request.attempt(), newest));
    }
    response.set_attempt(request.attempt() == 0 ? newest : request.attempt());
    for (const AssignmentRow& row : *ranks) {
      if (row.attempt != response.attempt()) continue;
      v1::RankUsage& usage = *response.add_ranks();
      usage.set_rank(row.rank);
      usage.set_worker(workers.at(row.worker)->name);
      usage.set_host(workers.at(row.worker)->host);
      absl::StatusOr<std::vector<AssignmentStep>> steps = store_.usage.OfAssignment(row.key);
      if (!steps.ok()) return steps.status();
      FillRank(*std::move(steps), row, *points, usage);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return response;
}

}  // namespace winnow
