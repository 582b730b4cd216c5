#include "cli/output/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/output/format.h"
#include "cli/output/text.h"
#include "spec/strategy.h"

namespace winnow::cli {
namespace {

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9;
}

constexpr double kTellingStartup = 0.05;  // of trial time

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
    case v1::Trial::CANCELLED:
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
  const auto wanted = [](v1::Goal goal, const std::string& metric) {
    return fmt::format(", {} {}", goal == v1::MINIMIZE ? "minimize" : "maximize", Clean(metric));
  };
  if (!HasFront(spec)) text += wanted(spec.objective().goal(), spec.objective().metric());
  for (const v1::ObjectivesEntry& objective : spec.objectives())
    text += wanted(objective.goal(), objective.metric());
  for (const v1::MetricConstraint& constraint : spec.metric_constraints()) {
    const std::string metric = Clean(constraint.metric());
    if (constraint.has_at_least())
      text += fmt::format(", {} at least {}", metric, NumberText(constraint.at_least()));
    if (constraint.has_at_most())
      text += fmt::format(", {} at most {}", metric, NumberText(constraint.at_most()));
  }
  if (spec.repeats().seeds() > 0) text += fmt::format(", {} seeds each", spec.repeats().seeds());
  if (spec.repeats().folds() > 0) text += fmt::format(", {} folds each", spec.repeats().folds());
  return text;
}

bool HasFront(const v1::TuningJobSpec& spec) { return spec.objectives_size() > 0; }

const std::string& FirstMetric(const v1::TuningJobSpec& spec) {
  return HasFront(spec) ? spec.objectives(0).metric() : spec.objective().metric();
}

std::string MetricsText(const v1::TuningJobSpec& spec) {
  if (!HasFront(spec)) return spec.objective().metric();
  std::string text;
  for (const v1::ObjectivesEntry& objective : spec.objectives())
    text += (text.empty() ? "" : ", ") + objective.metric();
  return text;
}

std::vector<std::string> StandingMetrics(const v1::TuningJobSpec& spec) {
  std::vector<std::string> metrics;
  const auto add = [&metrics](const std::string& metric) {
    if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end()) metrics.push_back(metric);
  };
  for (const v1::ObjectivesEntry& objective : spec.objectives()) add(objective.metric());
  for (const auto& constraint : spec.metric_constraints()) add(constraint.metric());
  return metrics;
}

std::optional<double> NewestValue(const v1::Trial& trial, const std::string& metric) {
  for (const v1::MetricReading& reading : trial.metrics()) {
    if (reading.metric() == metric) return reading.value();
  }
  return std::nullopt;
}

std::string ViolationsText(const v1::TuningJobSpec& spec, const v1::Trial& trial) {
  std::string text;
  for (const v1::MetricConstraint& constraint : spec.metric_constraints()) {
    const std::optional<double> value = NewestValue(trial, constraint.metric());
    const bool low = value && constraint.has_at_least() && *value < constraint.at_least();
    const bool high = value && constraint.has_at_most() && *value > constraint.at_most();
    if (value && !low && !high) continue;
    if (!text.empty()) text += "; ";
    text += Clean(constraint.metric());
    if (!value) {
      text += " has no value";
      continue;
    }
    text += fmt::format(" = {}, expected at {} {}", NumberText(*value), low ? "least" : "most",
                        NumberText(low ? constraint.at_least() : constraint.at_most()));
  }
  return text;
}

std::string NearestText(const v1::TuningJobSpec& spec, const std::optional<v1::Trial>& trial) {
  if (!trial) return "";
  return fmt::format(". The nearest is trial {}: {}", trial->number(), ViolationsText(spec, *trial));
}

bool AllFailed(const v1::TrialCounts& counts) {
  return counts.failed() > 0 && counts.failed() == AllTrials(counts);
}

std::string CountsText(const v1::TrialCounts& counts) {
  const std::pair<int64_t, const char*> parts[] = {
      {counts.running(), "running"}, {counts.pending(), "waiting for slots"},
      {counts.paused(), "paused"},   {counts.completed(), "completed"},
      {counts.pruned(), "pruned"},   {counts.cancelled(), "cancelled"},
      {counts.failed(), "failed"}};
  std::string text;
  for (const auto& [number, word] : parts) {
    if (number > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Thousands(number), word);
  }
  return text.empty() ? "none yet" : text;
}

int64_t EndedTrials(const v1::TrialCounts& counts) {
  return counts.completed() + counts.pruned() + counts.cancelled() + counts.failed();
}

int64_t AllTrials(const v1::TrialCounts& counts) {
  return EndedTrials(counts) + counts.pending() + counts.running() + counts.paused();
}

std::string BestText(const v1::TuningJob& job) {
  if (job.front_trials() > 0) return "a Pareto front of " + Count(job.front_trials(), "trial");
  if (!job.has_best()) return HasEnded(job) ? "none" : "none yet";
  const std::string expected = ExpectedText(job);
  const std::string unknown = UnreportedText(job);
  return fmt::format("trial {}: {} {}{}{}{}{}", job.best().trial(), BestValueText(job), BestLevelText(job),
                     expected.empty() ? "" : ", ", expected, unknown.empty() ? "" : "; ", unknown);
}

std::string BestValueText(const v1::TuningJob& job) {
  const std::string value = NumberText(job.best().objective());
  if (!job.best().has_standard_error()) return value;
  return value + " ± " + fmt::format("{:.2g}", job.best().standard_error());
}

bool RanksByBest(const v1::TuningJobSpec& spec) {
  const v1::ObjectiveSpec::Value value = spec.objective().value();
  return !spec.has_repeats() && value != v1::ObjectiveSpec::LAST && value != v1::ObjectiveSpec::MEAN;
}

std::string ExpectedText(const v1::TuningJob& job) {
  if (!job.best().has_expected()) return "";
  return fmt::format("expected {:.4g} ± {:.2g}{}", job.best().expected(), job.best().expected_error(),
                     RanksByBest(job.spec()) ? " at the end of training" : "");
}

std::string UnreportedText(const v1::TuningJob& job) {
  std::string metrics;
  for (const std::string& metric : job.best().unreported())
    metrics += (metrics.empty() ? "" : ", ") + Clean(metric);
  return metrics.empty() ? "" : "not known to satisfy metric_constraints: no value of " + metrics;
}

std::string BestLevelText(const v1::TuningJob& job) {
  if (job.spec().has_repeats()) return "mean of " + Count(job.best().resource(), "repeat");
  return "at " + Count(job.best().resource(), "unit");
}

std::string ResourceText(const v1::TuningJob& job) {
  const v1::JobSpend& spend = job.spend();
  const int64_t planned = job.planned_resource();
  std::string text = Count(spend.resource(), "unit");
  if (planned > spend.resource()) text += fmt::format(" of {} planned", Thousands(planned));
  if (spend.saved_resource() > 0) {
    const int64_t whole = spend.resource() + spend.saved_resource();
    text += fmt::format("; pruning saved {} more ({})", Thousands(spend.saved_resource()),
                        PercentText(Ratio(spend.saved_resource(), whole)));
  }
  return text;
}

std::string TimeText(const v1::TuningJob& job, double elapsed) {
  const v1::JobSpend& spend = job.spend();
  std::string text = fmt::format("{} elapsed, {} of trial time", DurationText(elapsed),
                                 DurationText(spend.training_seconds()));
  if (elapsed > 0 && spend.training_seconds() > 1.05 * elapsed) {
    text += fmt::format(" ({:.1f}× parallel)", spend.training_seconds() / elapsed);
  }
  if (spend.training_seconds() > 0 && spend.startup_seconds() >= kTellingStartup * spend.training_seconds()) {
    text +=
        fmt::format(", {} of it start-up", PercentText(spend.startup_seconds() / spend.training_seconds()));
  }
  return text;
}

std::string PartsText(const v1::TuningJob& job) {
  const v1::JobSpend& spend = job.spend();
  std::string kinds;
  int64_t all = 0;
  const auto add = [&](int64_t parts, const char* kind) {
    if (parts == 0) return;
    all += parts;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", Thousands(parts), kind);
  };
  add(spend.new_process_parts(), spend.new_process_parts() == 1 ? "new process" : "new processes");
  add(spend.forked_parts(), "forked");
  add(spend.continued_parts(), "continued");
  return all == 0 ? "" : fmt::format("{}: {}", Thousands(all), kinds);
}

std::vector<std::string> FailureTexts(const v1::TuningJob& job, size_t most) {
  std::vector<std::string> texts;
  int64_t left = job.trial_counts().failed();
  for (const v1::FailureGroup& group : job.failures()) {
    if (texts.size() == most) break;
    const std::string first = group.trials() > 1 ? fmt::format("first: trial {}", group.first_trial())
                                                 : fmt::format("trial {}", group.first_trial());
    const std::string reason = group.reason().empty() ? "no reason given" : Clean(group.reason());
    texts.push_back(fmt::format("{} × {} ({})", Thousands(group.trials()), reason, first));
    left -= group.trials();
  }
  if (!texts.empty() && left > 0) texts.push_back(fmt::format("{} for other reasons", Thousands(left)));
  return texts;
}

std::vector<std::string> NoticeTexts(const v1::TuningJob& job) {
  std::vector<std::string> texts;
  for (const v1::JobNotice& notice : job.notices()) {
    const bool named = notice.trial() == 0 ||
                       notice.text().find(fmt::format("rial {} ", notice.trial())) != std::string::npos;
    texts.push_back((named ? "" : fmt::format("trial {}: ", notice.trial())) + Clean(notice.text()));
  }
  return texts;
}

std::optional<double> Fraction(const v1::TuningJob& job, double elapsed) {
  if (job.state() == v1::TuningJob::COMPLETED) return 1;
  const v1::LimitsSpec& limits = job.spec().limits();
  const bool changed = job.has_limits();
  const int64_t units = changed ? job.limits().max_total_resource() : limits.max_total_resource();
  const double wall = changed ? job.limits().max_wall_seconds() : Seconds(limits.max_wall_time());
  double fraction = -1;
  if (job.planned_resource() > 0) {
    fraction = Ratio(job.spend().resource(), job.planned_resource());
  } else if (job.planned_trials() > 0) {
    fraction = Ratio(EndedTrials(job.trial_counts()), job.planned_trials());
  } else if (units > 0) {
    fraction = Ratio(job.spend().resource(), units);
  }
  if (wall > 0) fraction = std::max(fraction, elapsed / wall);
  if (fraction < 0) return std::nullopt;
  return std::min(fraction, 0.99);
}

std::optional<double> SecondsLeft(const v1::TuningJob& job, double elapsed) {
  const std::optional<double> fraction = Fraction(job, elapsed);
  if (!fraction || *fraction <= 0 || *fraction >= 0.99 || elapsed <= 0) return std::nullopt;
  return elapsed / *fraction - elapsed;
}

}  // namespace winnow::cli
