#include "cli/commands/actions.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

std::string ThisHost() {
  std::array<char, 128> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "winnow";
}

// Quotes the text so that a shell reads it as one word.
std::string Word(const std::string& text) {
  const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

absl::StatusOr<std::pair<std::string, double>> ReadMetric(const std::string& text) {
  const size_t sign = text.rfind('=');
  double value = 0;
  const char* first = text.data() + (sign == std::string::npos ? text.size() : sign + 1);
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, value);
  if (sign == std::string::npos || sign == 0 || error != std::errc() || end != last) {
    return UsageError(fmt::format("--metric: \"{}\" is not NAME=VALUE with a number", Clean(text)));
  }
  return std::pair(text.substr(0, sign), value);
}

template <class Request>
absl::Status Fill(Session& session, const TellOptions& options, Request* request) {
  if (!options.metrics.empty() && options.resource == 0) {
    return UsageError("--resource is missing; expected the level of the metrics");
  }
  for (const std::string& text : options.metrics) {
    const auto metric = ReadMetric(text);
    if (!metric.ok()) return metric.status();
    v1::ReportedPoint* point = request->add_points();
    point->set_resource(options.resource);
    point->set_metric(metric->first);
    point->set_value(metric->second);
  }
  const auto id = session.client().JobId(options.job);
  if (!id.ok()) return id.status();
  request->set_job_id(*id);
  request->set_trial(options.trial);
  request->set_attempt(options.attempt);
  return absl::OkStatus();
}

bool IsEnd(v1::TuningJob::State state) {
  return state == v1::TuningJob::COMPLETED || state == v1::TuningJob::STOPPED ||
         state == v1::TuningJob::FAILED;
}

}  // namespace

Exit Ask(Session& session, const AskOptions& options) {
  const auto id = session.client().JobId(options.job);
  if (!id.ok()) return id.status();
  v1::SuggestTrialsRequest request;
  request.set_job_id(*id);
  request.set_client(options.client.empty() ? ThisHost() : options.client);
  request.set_count(static_cast<int32_t>(options.count));
  const auto whole = static_cast<int64_t>(std::floor(options.wait));
  request.mutable_wait()->set_seconds(whole);
  request.mutable_wait()->set_nanos(static_cast<int32_t>((options.wait - static_cast<double>(whole)) * 1e9));
  const auto answer = session.client().Suggest(request);
  if (!answer.ok()) return answer.status();
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(*answer));
  } else {
    for (const auto& trial : answer->trials()) {
      std::string line = fmt::format("{} {} {} {}", trial.trial(), trial.attempt(), trial.resource_from(),
                                     trial.resource_to());
      for (const auto& value : trial.hyperparameters()) {
        // The hyperparameter is inactive in this trial.
        if (value.value_case() == v1::HyperparameterValue::VALUE_NOT_SET) continue;
        line += " " + Word(Clean(value.name()) + "=" + ValueText(value, true));
      }
      session.out.Print(line + "\n");
    }
  }
  if (!answer->trials().empty()) return kSuccess;
  if (!IsEnd(answer->job_state())) {
    const auto job = session.client().Describe(*id);
    session.err.Print(
        job.ok() && job->paused()
            ? fmt::format("winnow: {0} is paused and gives no trials; to go on: winnow resume {0}\n", *id)
            : fmt::format("winnow: {} has no trial yet; ask again, or wait longer with --wait\n", *id));
    return kSuccess;
  }
  session.err.Print(fmt::format("winnow: {} has ended: {}\n", *id, StateText(answer->job_state())));
  return kNoMore;
}

Exit Tell(Session& session, const TellOptions& options) {
  v1::ReportMetricsRequest request;
  if (const absl::Status status = Fill(session, options, &request); !status.ok()) return status;
  const auto answer = session.client().Report(request);
  if (!answer.ok()) return answer.status();
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(*answer));
  } else {
    session.out.Print(answer->stop() ? fmt::format("stop: {}\n", Clean(answer->reason())) : "go on\n");
  }
  return answer->stop() ? kNoMore : kSuccess;
}

Exit Complete(Session& session, const TellOptions& options) {
  if (!options.reason.empty() && !options.failed) {
    return UsageError("--reason needs --failed");
  }
  v1::CompleteTrialRequest request;
  if (const absl::Status status = Fill(session, options, &request); !status.ok()) return status;
  request.set_failed(options.failed);
  request.set_reason(options.reason);
  const auto answer = session.client().Complete(request);
  if (!answer.ok()) return answer.status();
  if (PrintsJson(session, *answer)) return kSuccess;
  const v1::Trial& trial = answer->trial();
  session.out.Print(fmt::format("trial {} is {}{}\n", trial.number(), StateText(trial.state()),
                                trial.state_reason().empty() ? "" : ": " + Clean(trial.state_reason())));
  return kSuccess;
}

}  // namespace winnow::cli
