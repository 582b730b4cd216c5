#include "cli/commands/summary.h"

#include <fmt/core.h>

#include "cli/output/format.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

constexpr size_t kMostReasons = 3;  // of failures

}  // namespace

std::string ConfigurationText(const v1::Trial& trial, int width) {
  std::string text;
  size_t used = 0;
  for (const auto& parameter : trial.hyperparameters()) {
    if (parameter.value_case() == v1::HyperparameterValue::VALUE_NOT_SET)
      continue;  // the hyperparameter is inactive in this trial
    const std::string item = fmt::format("{} {}", Clean(parameter.name()), ValueText(parameter));
    const size_t columns = DisplayWidth(item);
    if (text.empty()) {
      used = columns;
    } else if (used + 3 + columns > static_cast<size_t>(width)) {
      text += "\n";
      used = columns;
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
    text += out.Labelled(label, 9, value);
  };
  const auto lines = [&](std::string_view label, const std::vector<std::string>& values) {
    for (size_t i = 0; i < values.size(); ++i) line(i == 0 ? label : "", values[i]);
  };
  if (job.has_best()) {
    const auto best = session.client().DescribeTrial(job.id(), job.best().trial());
    if (!best.ok()) return best.status();
    line("best", fmt::format("{} {} (trial {}, at {})", Clean(job.spec().objective().metric()),
                             out.Paint(Style::kGood, NumberText(job.best().objective())), job.best().trial(),
                             Count(job.best().resource(), "unit")));
    line("", ConfigurationText(best->trial(), out.width() - 11));
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
  lines("failures", FailureTexts(job, kMostReasons));
  line("trained", ResourceText(job));
  line("time", TimeText(job, spend.elapsed_seconds()));
  lines("notices", NoticeTexts(job));
  line("look at", session.Hint(fmt::format("trials {} --sort objective", job.id())));
  if (job.has_best()) line("", session.Hint(fmt::format("describe {} {}", job.id(), job.best().trial())));
  line("", session.Hint(fmt::format("analytics {} --output csv", job.id())));
  return text;
}

}  // namespace winnow::cli
