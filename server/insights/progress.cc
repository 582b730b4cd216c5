// How a job came to its best value.

#include <fmt/format.h>

#include <numeric>

#include "insight/stairs.h"
#include "server/engine/job_view.h"
#include "server/insights/insights.h"

namespace winnow {
namespace {

constexpr int kMostShown = 100;

}  // namespace

absl::StatusOr<v1::Progress> Insights::ProgressOf(const std::string& id, size_t most) {
  const absl::StatusOr<JobHead> job = FindJob(store_, id);
  if (!job.ok()) return job.status();
  absl::StatusOr<std::vector<BestStep>> steps = store_.summaries.Steps(job->row.key);
  if (!steps.ok()) return steps.status();
  const absl::StatusOr<std::optional<v1::TuningJob>> kept = KeptDescription(store_, job->row);
  if (!kept.ok()) return kept.status();
  double resource = 0;
  if (*kept) {
    resource = static_cast<double>((*kept)->spend().resource());
  } else {
    const absl::StatusOr<const JobTrials*> trials = tables_.Get(id);
    if (!trials.ok()) return trials.status();
    const std::vector<int64_t>& trained = (*trials)->columns.trained_resource;
    resource = static_cast<double>(std::accumulate(trained.begin(), trained.end(), int64_t{0}));
  }
  const auto elapsed = [&](int64_t time_us) {
    return static_cast<double>(time_us - job->row.create_us) / 1e6;
  };
  std::vector<Stair> stairs;
  for (const BestStep& step : *steps) {
    stairs.push_back({elapsed(step.time_us), static_cast<double>(step.resource), step.objective, step.trial});
  }
  stairs = ThinStairs(MonotoneStairs(stairs, job->search.goal), most - 1);
  if (!stairs.empty()) {
    const int64_t now_us = job->row.end_us > 0 ? job->row.end_us : clock_.wall_us();
    stairs.push_back({elapsed(now_us), resource, stairs.back().best, stairs.back().trial});
  }
  v1::Progress progress;
  progress.set_job_id(id);
  for (const Stair& stair : stairs) {
    progress.add_elapsed_seconds(stair.elapsed_seconds);
    progress.add_resource(stair.resource);
    progress.add_best(stair.best);
    progress.add_trial(static_cast<int32_t>(stair.trial));
  }
  return progress;
}

absl::StatusOr<v1::GetProgressResponse> Insights::GetProgress(const v1::GetProgressRequest& request) {
  if (request.job_ids_size() < 1 || request.job_ids_size() > kMostShown) {
    return absl::InvalidArgumentError(
        fmt::format("job_ids: {} of them; expected 1 to {}", request.job_ids_size(), kMostShown));
  }
  // Two points are the beginning and the end of a stair; the last is the current one.
  const absl::StatusOr<size_t> most = Bounded("max_points", request.max_points(), 200, 3, 2000);
  if (!most.ok()) return most.status();
  v1::GetProgressResponse response;
  const absl::Status status = store_.Read([&]() -> absl::Status {
    for (const std::string& id : request.job_ids()) {
      absl::StatusOr<v1::Progress> progress = ProgressOf(id, *most);
      if (!progress.ok()) return progress.status();
      *response.add_jobs() = *std::move(progress);
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return response;
}

}  // namespace winnow
