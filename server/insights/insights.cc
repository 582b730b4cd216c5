#include "server/insights/insights.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "insight/filter.h"
#include "insight/ordering.h"
#include "insight/parallel_lines.h"
#include "insight/sieve.h"
#include "insight/stairs.h"
#include "server/engine/answers/job_view.h"
#include "server/engine/answers/messages.h"
#include "server/insights/insight_messages.h"
#include "server/reads/annotations.h"

namespace winnow {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void Fill(const std::array<int64_t, kTrialPhases>& counts, v1::TrialCounts& message) {
  message.set_pending(counts[static_cast<size_t>(TrialPhase::kPending)]);
  message.set_running(counts[static_cast<size_t>(TrialPhase::kRunning)]);
  message.set_paused(counts[static_cast<size_t>(TrialPhase::kPaused)]);
  message.set_completed(counts[static_cast<size_t>(TrialPhase::kCompleted)]);
  message.set_pruned(counts[static_cast<size_t>(TrialPhase::kPruned)]);
  message.set_failed(counts[static_cast<size_t>(TrialPhase::kFailed)]);
  message.set_cancelled(counts[static_cast<size_t>(TrialPhase::kCancelled)]);
}

constexpr int kMostShown = 100;
constexpr size_t kMostTagFilters = 10;
// Bytes of the rows of one answer; the last may exceed it.
constexpr size_t kMostTableBytes = 8 << 20;
constexpr std::string_view kTagFilter = "#tag:";

// Unmarks the trials that have none of the tags, "A|B". Tags hold no character that is escaped in a filter
// but ':', which needs no escape here.
void KeepTagged(const std::string& tags, const std::map<TrialNumber, AnnotationRow>& annotations,
                std::vector<uint8_t>& marks) {
  const std::vector<std::string> wanted = absl::StrSplit(absl::StrReplaceAll(tags, {{"\\", ""}}), '|');
  for (size_t row = 0; row < marks.size(); ++row) {
    const auto found = annotations.find(static_cast<TrialNumber>(row + 1));
    const bool has_any =
        found != annotations.end() && std::any_of(wanted.begin(), wanted.end(), [&](const std::string& tag) {
          return std::binary_search(found->second.tags.begin(), found->second.tags.end(), tag);
        });
    if (!has_any) marks[row] = 0;
  }
}

}  // namespace

absl::StatusOr<size_t> Bounded(const char* field, int64_t asked, int64_t otherwise, int64_t least,
                               int64_t most) {
  if (asked == 0) return static_cast<size_t>(otherwise);
  if (asked >= least && asked <= most) return static_cast<size_t>(asked);
  return absl::InvalidArgumentError(
      fmt::format("{}: {} is out of range; expected {} to {}, or 0 for the default of {}", field, asked,
                  least, most, otherwise));
}

absl::Status Insights::With(const std::string& id, const std::vector<std::string>& texts, const Look& look) {
  return store_.Read([&]() -> absl::Status {
    const absl::StatusOr<const JobTrials*> job = tables_.Get(id);
    if (!job.ok()) return job.status();
    const auto is_of_tags = [](const std::string& text) { return text.starts_with(kTagFilter); };
    std::vector<std::string> of_columns;
    std::copy_if(texts.begin(), texts.end(), std::back_inserter(of_columns), std::not_fn(is_of_tags));
    const absl::StatusOr<std::vector<Filter>> filters = ParseFilters(of_columns, (*job)->columns);
    if (!filters.ok()) return filters.status();
    std::vector<uint8_t> marks = Marks((*job)->columns, *filters);
    if (texts.size() - of_columns.size() > kMostTagFilters) {
      return absl::InvalidArgumentError(fmt::format("filters: {} of #tag; expected at most {}",
                                                    texts.size() - of_columns.size(), kMostTagFilters));
    }
    if (of_columns.size() < texts.size()) {
      absl::StatusOr<std::map<TrialNumber, AnnotationRow>> annotations =
          store_.annotations.OfTrials((*job)->row.key, 1, static_cast<TrialNumber>(marks.size()));
      if (!annotations.ok()) return annotations.status();
      for (const std::string& text : texts) {
        if (is_of_tags(text)) KeepTagged(text.substr(kTagFilter.size()), *annotations, marks);
      }
    }
    return look(**job, marks);
  });
}

absl::Status Insights::AddTrial(const JobTrials& job, size_t row, v1::Trial& message) {
  const auto number = static_cast<TrialNumber>(row + 1);
  const absl::StatusOr<std::optional<TrialRow>> trial = store_.trials.Find(job.row.key, number);
  if (!trial.ok()) return trial.status();
  if (!*trial) return absl::DataLossError(fmt::format("job \"{}\": trial {} has no row", job.row.id, number));
  message = ToProto(job.row.id, job.search, **trial);
  return AddAnnotation(store_, job.row.key, message);
}

absl::StatusOr<v1::Sieve> Insights::GetSieve(const v1::GetSieveRequest& request) {
  const absl::StatusOr<size_t> most = Bounded("max_marks", request.max_marks(), 2000, 1, 10'000);
  if (!most.ok()) return most.status();
  v1::Sieve sieve;
  const absl::Status status =
      With(request, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        const TrialColumns& columns = job.columns;
        std::function<std::vector<int64_t>(int32_t)> levels;
        if (job.has_brackets()) levels = [&job](int32_t bracket) { return job.Levels(bracket); };
        for (const SieveCellData& cell : MakeSieve(columns, marked, levels, *most)) {
          v1::SieveCell& message = *sieve.add_cells();
          message.set_bracket(cell.bracket);
          message.set_rung(cell.rung);
          message.set_resource(static_cast<double>(cell.resource));
          Fill(cell.counts, *message.mutable_counts());
          message.set_passed(static_cast<int32_t>(cell.passed));
          const auto cutoff = job.cutoffs.find({cell.bracket, cell.rung});
          message.set_cutoff(cutoff == job.cutoffs.end() ? kNone : cutoff->second);
          for (const uint32_t row : cell.marks) {
            const absl::StatusOr<std::string> why = store_.trials.Reason(job.row.key, row + 1);
            if (!why.ok()) return why.status();
            message.add_trial(static_cast<int32_t>(row + 1));
            message.add_best(columns.best[row]);
            message.add_state(StateOf(columns.phase[row]));
            message.add_at_resource(static_cast<double>(columns.resource[row]));
            message.add_why(*why);
          }
        }
        sieve.set_last_sequence(job.row.last_sequence);
        sieve.set_trials(std::accumulate(marked.begin(), marked.end(), int64_t{0}));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return sieve;
}

absl::StatusOr<v1::ParallelCoordinates> Insights::GetParallelCoordinates(
    const v1::GetParallelCoordinatesRequest& request) {
  const absl::StatusOr<size_t> most = Bounded("max_lines", request.max_lines(), 300, 1, 2000);
  if (!most.ok()) return most.status();
  const absl::StatusOr<size_t> bins = Bounded("bins", request.bins(), 48, 2, 256);
  if (!bins.ok()) return bins.status();
  v1::ParallelCoordinates answer;
  const absl::Status status =
      With(request, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        const TrialColumns& columns = job.columns;
        for (const AxisScale& axis : columns.axes()) Fill(axis, *answer.add_axes());
        const AxisScale objective = columns.ObjectiveAxis();
        Fill(objective, *answer.add_axes());
        const std::vector<double> scores = ScorePositions(columns.Scores(), objective);
        std::vector<const std::vector<double>*> positions;
        for (const std::vector<double>& column : columns.position) positions.push_back(&column);
        positions.push_back(&scores);
        for (const uint32_t row : BestRows(columns, marked, *most)) {
          answer.add_trial(static_cast<int32_t>(row + 1));
          for (const std::vector<double>* column : positions) answer.add_position(Rounded((*column)[row]));
        }
        const auto width = static_cast<int>(*bins);
        std::vector<int32_t> left = BinsOf(*positions[0], width);
        for (size_t i = 1; i < positions.size(); ++i) {
          v1::AxisDensity& density = *answer.add_densities();
          std::vector<int32_t> right = BinsOf(*positions[i], width);
          for (const BinCount& cell : CountBins(columns, marked, left, right, width)) {
            density.add_from(cell.from);
            density.add_to(cell.to);
            density.add_count(cell.count);
            density.add_best(cell.best);
          }
          left = std::move(right);
        }
        answer.set_trials(std::accumulate(marked.begin(), marked.end(), int64_t{0}));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return answer;
}

absl::StatusOr<v1::QueryTrialsResponse> Insights::QueryTrials(const v1::QueryTrialsRequest& request) {
  const absl::StatusOr<size_t> limit = Bounded("limit", request.limit(), 100, 1, 10'000);
  if (!limit.ok()) return limit.status();
  if (request.offset() < 0) {
    return absl::InvalidArgumentError(fmt::format("offset: {} is negative", request.offset()));
  }
  v1::QueryTrialsResponse answer;
  const absl::Status status =
      With(request, [&](const JobTrials& job, const std::vector<uint8_t>& marked) -> absl::Status {
        const absl::StatusOr<std::vector<uint32_t>> rows = OrderedRows(
            job.columns, marked, request.order_by(), static_cast<size_t>(request.offset()), *limit);
        if (!rows.ok()) return rows.status();
        size_t bytes = 0;
        for (const uint32_t row : *rows) {
          if (bytes > kMostTableBytes) break;  // the caller goes on behind what it has got
          absl::Status added = AddTrial(job, row, *answer.add_trials());
          if (!added.ok()) return added;
          bytes += answer.trials().rbegin()->ByteSizeLong();
        }
        answer.set_total(std::accumulate(marked.begin(), marked.end(), int64_t{0}));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return answer;
}

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
