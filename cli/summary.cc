#include "cli/summary.h"

#include <fmt/core.h>

#include "cli/format.h"
#include "cli/progress.h"
#include "cli/text.h"

namespace winnow::cli {

std::string ConfigurationText(const v1::Trial& trial, int width, int indent) {
  std::string text;
  size_t used = static_cast<size_t>(indent);
  for (const auto& parameter : trial.hyperparameters()) {
    if (parameter.value_case() == v1::HyperparameterValue::VALUE_NOT_SET)
      continue;  // it does not exist in this trial
    const std::string item = fmt::format("{} {}", Clean(parameter.name()), ValueText(parameter));
    const size_t columns = DisplayWidth(item);
    if (text.empty()) {
      used += columns;
    } else if (used + 3 + columns > static_cast<size_t>(width)) {
      text += "\n" + std::string(static_cast<size_t>(indent), ' ');
      used = static_cast<size_t>(indent) + columns;
    } else {
      text += "   ";
      used += 3 + columns;
    }
    text += item;
  }
  return text;
}

absl::StatusOr<std::string> SummaryText(Session& session, const v1::TuningJob& job) {
  const Terminal& out = session.out;
  const v1::JobSpend& spend = job.spend();
  std::string text = fmt::format("{} {}{}\n", out.Paint(Style::kBold, job.id()),
                                 out.Paint(StateStyle(job.state()), StateText(job.state())),
                                 job.state_reason().empty() ? "" : ": " + Clean(job.state_reason()));
  const auto line = [&](std::string_view label, const std::string& value) {
    text += fmt::format("  {}{}\n", out.Paint(Style::kDim, fmt::format("{:<9}", label)), value);
  };
  if (job.has_best()) {
    const auto best = session.client().DescribeTrial(job.id(), job.best().trial());
    if (!best.ok()) return best.status();
    line("best", fmt::format("{} {} (trial {}, at {})", Clean(job.spec().objective().metric()),
                             out.Paint(Style::kGood, NumberText(job.best().objective())), job.best().trial(),
                             Count(job.best().resource(), "unit")));
    line("", ConfigurationText(best->trial(), out.width(), 11));
  } else {
    v1::QueryMetricsRequest request;
    request.set_job_id(job.id());
    request.add_metrics(job.spec().objective().metric());
    const auto reported = session.client().Metrics(request);
    if (!reported.ok()) return reported.status();
    line("best",
         fmt::format("none: no trial reported {}{}", reported->points().empty() ? "" : "a finite value of ",
                     Clean(job.spec().objective().metric())));
  }
  line("trials",
       fmt::format("{}: {}", Thousands(AllTrials(job.trial_counts())), CountsText(job.trial_counts())));
  line("trained", ResourceText(job));
  // Trials that share cores take longer than they would alone, so the sum is no promise of a sequential run.
  std::string time =
      fmt::format("{} elapsed; the trials' own times, one after the other, are {}",
                  DurationText(spend.elapsed_seconds()), DurationText(spend.training_seconds()));
  if (spend.elapsed_seconds() > 0 && spend.training_seconds() > spend.elapsed_seconds()) {
    time += fmt::format(" ({:.1f} at a time)", spend.training_seconds() / spend.elapsed_seconds());
  }
  line("time", time);
  line("look at", session.Hint(fmt::format("trials {} --sort objective", job.id())));
  if (job.has_best()) line("", session.Hint(fmt::format("describe {} {}", job.id(), job.best().trial())));
  line("", session.Hint(fmt::format("analytics {} --output csv", job.id())));
  return text;
}

}  // namespace winnow::cli
