#include "cli/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/format.h"
#include "cli/text.h"
#include "spec/strategy.h"

namespace winnow::cli {
namespace {

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9;
}

double Ratio(int64_t part, int64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

}  // namespace

bool HasEnded(const v1::TuningJob& job) {
  return job.state() == v1::TuningJob::COMPLETED || job.state() == v1::TuningJob::STOPPED ||
         job.state() == v1::TuningJob::FAILED;
}

std::string StateText(v1::TuningJob::State state) {
  return v1::TuningJob::State_IsValid(state) && state != v1::TuningJob::STATE_UNSPECIFIED
             ? v1::TuningJob::State_Name(state)
             : "UNKNOWN";
}

std::string StateText(v1::Trial::State state) {
  return v1::Trial::State_IsValid(state) && state != v1::Trial::STATE_UNSPECIFIED
             ? v1::Trial::State_Name(state)
             : "UNKNOWN";
}

Style StateStyle(v1::TuningJob::State state) {
  switch (state) {
    case v1::TuningJob::RUNNING:
    case v1::TuningJob::STOPPING:
      return Style::kBusy;
    case v1::TuningJob::COMPLETED:
      return Style::kGood;
    case v1::TuningJob::FAILED:
      return Style::kBad;
    default:
      return Style::kPlain;
  }
}

Style StateStyle(v1::Trial::State state) {
  switch (state) {
    case v1::Trial::RUNNING:
      return Style::kBusy;
    case v1::Trial::COMPLETED:
      return Style::kGood;
    case v1::Trial::FAILED:
      return Style::kBad;
    case v1::Trial::PRUNED:
      return Style::kDim;
    default:
      return Style::kPlain;
  }
}

std::string StrategyText(const v1::TuningJobSpec& spec) {
  const Strategy strategy = StrategyOf(spec);
  std::string text = StrategyName(strategy.sampler.kind, strategy.pruner.kind);
  if (HasRungs(strategy.pruner.kind)) {
    const RungSettings& rungs = strategy.pruner.rungs;
    text += fmt::format(", R = {}, eta = {}", Thousands(rungs.max_resource), rungs.reduction_factor);
    if (rungs.min_resource > 1) text += fmt::format(", r = {}", Thousands(rungs.min_resource));
  }
  return text + fmt::format(", {} {}", spec.objective().goal() == v1::MINIMIZE ? "minimize" : "maximize",
                            Clean(spec.objective().metric()));
}

std::string CountsText(const v1::TrialCounts& counts) {
  const std::pair<int64_t, const char*> parts[] = {
      {counts.running(), "running"}, {counts.pending(), "waiting for slots"},
      {counts.paused(), "paused"},   {counts.completed(), "completed"},
      {counts.pruned(), "stopped"}, {counts.failed(), "failed"}};
  std::string text;
  for (const auto& [number, word] : parts) {
    if (number > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Thousands(number), word);
  }
  return text.empty() ? "none yet" : text;
}

int64_t EndedTrials(const v1::TrialCounts& counts) {
  return counts.completed() + counts.pruned() + counts.failed();
}

int64_t AllTrials(const v1::TrialCounts& counts) {
  return EndedTrials(counts) + counts.pending() + counts.running() + counts.paused();
}

std::string BestText(const v1::TuningJob& job) {
  if (!job.has_best()) return HasEnded(job) ? "none" : "none yet";
  return fmt::format("trial {}: {} at {}", job.best().trial(), NumberText(job.best().objective()),
                     Count(job.best().resource(), "unit"));
}

std::string ResourceText(const v1::TuningJob& job) {
  const v1::JobSpend& spend = job.spend();
  const v1::TrialCounts& counts = job.trial_counts();
  const bool whole = job.state() == v1::TuningJob::COMPLETED && counts.failed() == 0 &&
                     job.planned_trials() > 0 && AllTrials(counts) == job.planned_trials();
  if (!whole || job.brackets().empty() || spend.full_resource() <= 0) {
    const int64_t planned = job.planned_resource();
    return Count(spend.resource(), "unit") +
           (planned > 0 ? fmt::format(" of {} planned", Thousands(planned)) : "");
  }
  const double saved = 1 - Ratio(spend.resource(), spend.full_resource());
  std::string text =
      fmt::format("{} of {} units", Thousands(spend.resource()), Thousands(spend.full_resource()));
  if (saved > 0) return text + fmt::format(", {} saved by stopping early", PercentText(saved));
  if (saved < 0) return text + fmt::format(", {} more, trained again after failures", PercentText(-saved));
  return text + ", nothing saved";
}

std::optional<double> Fraction(const v1::TuningJob& job, double elapsed) {
  if (HasEnded(job)) return 1;
  const v1::LimitsSpec& limits = job.spec().limits();
  double fraction = -1;
  if (job.planned_resource() > 0) {
    fraction = Ratio(job.spend().resource(), job.planned_resource());
  } else if (job.planned_trials() > 0) {
    fraction = Ratio(EndedTrials(job.trial_counts()), job.planned_trials());
  } else if (limits.max_total_resource() > 0) {
    fraction = Ratio(job.spend().resource(), limits.max_total_resource());
  }
  if (limits.has_max_wall_time() && Seconds(limits.max_wall_time()) > 0) {
    fraction = std::max(fraction, elapsed / Seconds(limits.max_wall_time()));
  }
  if (fraction < 0) return std::nullopt;
  return std::min(fraction, 0.99);
}

std::optional<double> SecondsLeft(const v1::TuningJob& job, double elapsed) {
  const std::optional<double> fraction = Fraction(job, elapsed);
  if (!fraction || *fraction <= 0 || *fraction >= 0.99 || elapsed <= 0) return std::nullopt;
  return elapsed / *fraction - elapsed;
}

}  // namespace winnow::cli
