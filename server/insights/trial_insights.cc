// Insights into single hyperparameters and trials, and the questions for curves and forests.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "insight/even_choice.h"
#include "insight/filter.h"
#include "insight/neighbours.h"
#include "insight/parallel_lines.h"
#include "server/engine/answers/requester.h"
#include "server/insights/insight_messages.h"
#include "server/insights/insights.h"

namespace winnow {
namespace {

constexpr size_t kMostStopped = 2000;
constexpr int kMostNamed = 100;

absl::StatusOr<std::vector<uint32_t>> Singles(const JobTrials& job, const std::vector<uint8_t>& marked,
                                              size_t most, const v1::GetLearningCurvesRequest& request) {
  if (request.trials_size() > kMostNamed) {
    return absl::InvalidArgumentError(
        fmt::format("trials: {} of them; expected at most {}", request.trials_size(), kMostNamed));
  }
  std::vector<uint32_t> rows = BestRows(job.columns, marked, most);
  for (const int64_t trial : request.trials()) {
    if (trial < 1 || trial > static_cast<int64_t>(job.columns.size())) {
      return NoTrial(job.row.id, trial);
    }
    const auto row = static_cast<uint32_t>(trial - 1);
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
  }
  return rows;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MetricsOf(Store& store, const JobTrials& job) {
  const TrialColumns& columns = job.columns;
  std::vector<uint32_t> rows;
  if (columns.ranked() > 0) rows.push_back(columns.Ranking().front());
  const auto has_reports = [](int64_t resource) { return resource > 0; };
  const auto first = std::find_if(columns.resource.begin(), columns.resource.end(), has_reports);
  if (first != columns.resource.end()) {
    rows.push_back(static_cast<uint32_t>(first - columns.resource.begin()));
    const auto last = std::find_if(columns.resource.rbegin(), columns.resource.rend(), has_reports);
    rows.push_back(static_cast<uint32_t>(columns.resource.rend() - last) - 1);
  }
  std::vector<std::string> metrics = {job.search.objective_metric};
  for (const uint32_t row : rows) {
    const absl::StatusOr<std::vector<std::string>> reported = store.facts.MetricsOf(job.row.key, row + 1);
    if (!reported.ok()) return reported.status();
    for (const std::string& metric : *reported) {
      if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) metrics.push_back(metric);
    }
  }
  return metrics;
}

absl::StatusOr<CurvesQuestion> Insights::AskCurves(const v1::GetLearningCurvesRequest& request) {
  const absl::StatusOr<size_t> most = Bounded("max_curves", request.max_curves(), 20, 1, 500);
  if (!most.ok()) return most.status();
  // A curve's ends, and the lowest and highest point between them.
  const absl::StatusOr<size_t> points = Bounded("max_points", request.max_points(), 200, 4, 2000);
  if (!points.ok()) return points.status();
  CurvesQuestion question;
  const absl::Status status =
      With(request, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        const absl::StatusOr<std::vector<std::string>> metrics = MetricsOf(store_, job);
        if (!metrics.ok()) return metrics.status();
        question.metric = request.metric().empty() ? metrics->front() : request.metric();
        if (std::find(metrics->begin(), metrics->end(), question.metric) == metrics->end()) {
          return absl::InvalidArgumentError(
              fmt::format("metric: job \"{}\" has no \"{}\"; expected one of {}", job.row.id, question.metric,
                          fmt::join(*metrics, ", ")));
        }
        absl::StatusOr<std::vector<uint32_t>> singles = Singles(job, marked, *most, request);
        if (!singles.ok()) return singles.status();
        question.singles = *std::move(singles);
        question.job = job.row.key;
        question.most_points = *points;
        question.phases = job.columns.phase;
        question.marked = marked;
        const bool is_objective = question.metric == metrics->front();
        std::vector<uint32_t> stopped;
        for (uint32_t row = 0; row < marked.size(); ++row) {
          if (!is_objective && job.columns.phase[row] == TrialPhase::kRunning)
            question.unsettled.push_back(row + 1);
          if (marked[row] != 0 && job.columns.phase[row] == TrialPhase::kPruned) stopped.push_back(row);
        }
        question.stopped = ChooseEvenly(stopped, kMostStopped);
        question.answer.set_metric(question.metric);
        for (const std::string& metric : *metrics) question.answer.add_metrics(metric);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return question;
}

absl::StatusOr<LevelQuestion> Insights::AskLevel(const std::string& id,
                                                 const std::vector<std::string>& filters, int64_t resource) {
  if (resource < kOwnLevels) {
    return absl::InvalidArgumentError(
        fmt::format("resource: {} is not a level; expected one from 1 on, 0 for the default, or {} for "
                    "each trial's own value",
                    resource, kOwnLevels));
  }
  LevelQuestion question;
  const absl::Status status =
      With(id, filters, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        question.job = job.row.key;
        question.metric = job.search.objective_metric;
        question.mean = job.spec.objective().value() == v1::ObjectiveSpec::MEAN;
        question.asked = resource;
        question.marked = marked;
        question.settled.resize(marked.size());
        for (size_t row = 0; row < marked.size(); ++row) {
          const TrialPhase phase = job.columns.phase[row];
          if (phase == TrialPhase::kFailed) question.marked[row] = 0;
          question.settled[row] = phase != TrialPhase::kRunning && phase != TrialPhase::kPending ? 1 : 0;
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return question;
}

absl::StatusOr<ForestQuestion> Insights::AskForest(const v1::GetImportanceRequest& request,
                                                   const LevelScores& compared) {
  ForestQuestion question;
  const absl::Status status =
      With(request, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        question.job = job.row.key;
        question.range_changes = job.range_changes;
        question.level = compared.level;
        // A length before each filter keeps different lists distinct.
        for (const std::string& filter : request.filters())
          question.filters += fmt::format("{}:{}", filter.size(), filter);
        question.task = std::make_shared<const ForestTask>(
            MakeForestTask(job.columns, marked, compared, job.search.seed));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return question;
}

absl::StatusOr<SliceAnswer> Insights::GetSlice(const v1::GetSliceRequest& request,
                                               const LevelScores& compared) {
  const absl::StatusOr<size_t> most = Bounded("max_points", request.max_points(), 1000, 1, 5000);
  if (!most.ok()) return most.status();
  const absl::StatusOr<size_t> bins = Bounded("bins", request.bins(), 32, 2, 256);
  if (!bins.ok()) return bins.status();
  SliceAnswer answer;
  const absl::Status status =
      With(request, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        const TrialColumns& columns = job.columns;
        const absl::StatusOr<size_t> dimension = ParameterAt("parameter", request.parameter(), job);
        if (!dimension.ok()) return dimension.status();
        answer.dimension = *dimension;
        v1::Slice& slice = answer.slice;
        const std::vector<double> scores = ScoresAt(columns, compared);
        const AxisScale objective = columns.AxisOf(scores);
        Fill(columns.axes()[*dimension], *slice.mutable_axis());
        Fill(objective, *slice.mutable_objective());
        const std::vector<double>& x = columns.position[answer.dimension];
        const std::vector<double> y = ScorePositions(scores, objective);
        const auto width = static_cast<int>(*bins);
        for (const BinCount& cell : CountBins(columns, marked, BinsOf(x, width), BinsOf(y, width), width)) {
          slice.add_x_bin(cell.from);
          slice.add_y_bin(cell.to);
          slice.add_count(cell.count);
        }
        const std::vector<uint32_t> rows = RowsByScore(columns, marked, scores, {&x});
        for (const uint32_t row : ChooseFirstAndEvenly(rows, *most)) {
          slice.add_trial(static_cast<int32_t>(row + 1));
          slice.add_x(Rounded(x[row]));
          slice.add_y(Rounded(y[row]));
          slice.add_resource(static_cast<double>(columns.resource[row]));
        }
        slice.set_bins(static_cast<int32_t>(*bins));
        slice.set_resource_level(compared.level);
        // The selected filters do not change the hyperparameter's effect.
        answer.question = WholeForest(job, compared);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return answer;
}

absl::StatusOr<v1::Neighbours> Insights::GetNeighbours(const v1::GetNeighboursRequest& request) {
  const absl::StatusOr<size_t> limit = Bounded("limit", request.limit(), 5, 1, 50);
  if (!limit.ok()) return limit.status();
  v1::Neighbours answer;
  const absl::Status status = store_.Read([&]() -> absl::Status {
    const absl::StatusOr<const JobTrials*> got = tables_.Get(request.job_id());
    if (!got.ok()) return got.status();
    const JobTrials& job = **got;
    const TrialColumns& columns = job.columns;
    if (request.trial() < 1 || request.trial() > static_cast<int64_t>(columns.size())) {
      return NoTrial(request.job_id(), request.trial());
    }
    const auto row = static_cast<size_t>(request.trial() - 1);
    absl::Status added = AddTrial(job, row, *answer.mutable_trial());
    const size_t ranked = columns.ranked();
    const std::optional<uint32_t> best = columns.BestRow();
    if (added.ok() && best) added = AddTrial(job, *best, *answer.mutable_best());
    for (const auto& [distance, other] : Nearest(columns, row, *limit)) {
      if (added.ok()) added = AddTrial(job, other, *answer.add_neighbours());
      answer.add_distance(distance);
    }
    const auto end = columns.Ranking().begin() + static_cast<std::ptrdiff_t>(ranked);
    const auto place = std::find(columns.Ranking().begin(), end, static_cast<uint32_t>(row));
    answer.set_rank(place == end ? 0 : place - columns.Ranking().begin() + 1);
    answer.set_ranked(static_cast<int64_t>(ranked));
    return added;
  });
  if (!status.ok()) return status;
  return answer;
}

}  // namespace winnow
