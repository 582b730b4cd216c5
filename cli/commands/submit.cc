#include <fmt/core.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/status_text.h"
#include "cli/commands/actions.h"
#include "cli/commands/artifact_calls.h"
#include "cli/commands/job_source.h"
#include "cli/commands/pack_source.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "scheduler/space/space.h"
#include "spec/hidden_value.h"
#include "spec/placeholders.h"
#include "spec/search_spec.h"
#include "spec/values.h"
#include "spec/warnings.h"

namespace winnow::cli {

using google::protobuf::util::TimeUtil;

namespace {

std::string FreshRequestId() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// Packs the folder of trainer.source, if there is one, and sends what the server lacks of it.
absl::Status SendSource(Session& session, v1::CreateTuningJobRequest& request) {
  const v1::TrainerSpec& trainer = request.spec().trainer();
  if (trainer.source().empty()) return absl::OkStatus();
  std::error_code ignored;
  const std::filesystem::path named =
      std::filesystem::path(request.spec().working_directory()) / trainer.source();
  absl::StatusOr<v1::Source> source = PackSource(named, {trainer.exclude().begin(), trainer.exclude().end()});
  if (!source.ok()) return source.status();
  auto channel = session.client().channel();
  if (!channel.ok()) return channel.status();
  ArtifactCalls calls(session.client(), *std::move(channel), session.timeout);
  const std::filesystem::path root = std::filesystem::canonical(named, ignored);
  if (absl::Status status = calls.Send(source->manifest(), root); !status.ok()) return status;
  *request.mutable_source() = *std::move(source);
  return absl::OkStatus();
}

// Results of other code may not be comparable with those that come.
void WarnOfOtherCode(Session& session, const std::string& like, const v1::Source& source) {
  const auto job = session.client().Describe(like);
  if (!job.ok() || !job->has_source() || job->source().digest() == source.digest()) return;
  session.err.Print(fmt::format(
      "winnow: warning: trainer.source: the folder is not any more as {0} had it, with whose results "
      "the job begins; that code is given by: {1}\n",
      job->id(), session.Hint(fmt::format("source {} --download DIR", job->id()))));
}

// Takes hyperparameters out that are never active, as if their trials did not have them.
void LeaveOut(const std::set<std::string>& names, v1::TuningJobSpec& spec) {
  const auto stays = [&names](const std::string& name) { return names.count(name) == 0; };
  auto& parameters = *spec.mutable_parameters();
  parameters.erase(std::remove_if(parameters.begin(), parameters.end(),
                                  [&](const v1::ParameterSpec& each) { return !stays(each.name()); }),
                   parameters.end());
  // A constraint counts where all of its hyperparameters are active.
  auto& constraints = *spec.mutable_constraints();
  constraints.erase(std::remove_if(constraints.begin(), constraints.end(),
                                   [&](const v1::LinearConstraint& each) {
                                     return std::any_of(each.coefficients().begin(),
                                                        each.coefficients().end(),
                                                        [&](const auto& term) { return !stays(term.first); });
                                   }),
                    constraints.end());
  auto& command = *spec.mutable_trainer()->mutable_command();
  const std::vector<std::string> left = ExistingArguments({command.begin(), command.end()}, stays);
  // Without any placeholder a command gets every hyperparameter as a flag; the server refuses it as it is.
  if (std::any_of(left.begin(), left.end(), [](const auto& each) { return !Placeholders(each).empty(); }))
    command.Assign(left.begin(), left.end());
}

// What people have changed while the job ran counts, not what it was submitted with. A prior and values of
// conditions that a changed range does not have are left out, and so are hyperparameters that are never
// active then.
void TakeChanges(const v1::TuningJob& job, v1::TuningJobSpec& spec) {
  if (job.has_scheduling()) *spec.mutable_scheduling() = job.scheduling();
  if (job.has_limits()) {
    const v1::ChangedLimits& now = job.limits();
    v1::LimitsSpec& limits = *spec.mutable_limits();
    limits.set_max_trials(now.max_trials());
    limits.set_max_parallel_trials(now.max_parallel_trials());
    limits.set_max_total_resource(now.max_total_resource());
    limits.set_max_node_seconds(now.max_node_seconds());
    limits.set_max_cost(now.max_cost());
    limits.clear_max_wall_time();
    if (now.max_wall_seconds() > 0)
      *limits.mutable_max_wall_time() =
          TimeUtil::MicrosecondsToDuration(std::llround(now.max_wall_seconds() * 1e6));
  }
  if (job.parameters_size() != spec.parameters_size()) return;
  for (int i = 0; i < spec.parameters_size(); ++i) {
    v1::ParameterSpec changed = job.parameters(i);
    v1::ParameterSpec& parameter = *spec.mutable_parameters(i);
    if (parameter.has_condition()) *changed.mutable_condition() = parameter.condition();
    if (parameter.has_prior()) *changed.mutable_prior() = parameter.prior();
    parameter = std::move(changed);
  }
  const SearchSpec search = ToSearchSpec(spec);
  std::map<std::string, Range> ranges;
  for (const Parameter& parameter : search.parameters) ranges[parameter.name] = parameter.range;
  const auto is_within = [](const Range& range, const std::string& text) {
    const std::optional<Value> value = ReadValue(range, text);
    return value && Contains(range, *value);
  };
  std::set<std::string> never_active;
  for (int i = 0; i < spec.parameters_size(); ++i) {
    v1::ParameterSpec& parameter = *spec.mutable_parameters(i);
    const Range& range = search.parameters[static_cast<size_t>(i)].range;
    if (parameter.has_prior() && !is_within(range, parameter.prior().value())) parameter.clear_prior();
    if (!parameter.has_condition()) continue;
    auto& values = *parameter.mutable_condition()->mutable_values();
    const Range& parent = ranges.at(parameter.condition().parameter());
    values.erase(std::remove_if(values.begin(), values.end(),
                                [&](const std::string& value) { return !is_within(parent, value); }),
                 values.end());
    if (values.empty() || never_active.count(parameter.condition().parameter()) > 0)
      never_active.insert(parameter.name());
  }
  if (!never_active.empty()) LeaveOut(never_active, spec);
}

// The spec of a job that has the settings of `id` and begins with its results. Configurations that were
// drawn, or given to be tried first, are not repeated: the seed is the next one.
absl::StatusOr<v1::TuningJobSpec> SpecLike(Session& session, const std::string& id) {
  auto job = session.client().Describe(id);
  if (!job.ok()) return job.status();
  if (!HasEnded(*job)) {
    return absl::FailedPreconditionError(
        fmt::format("--like: {} is still running; expected a job that has ended", job->id()));
  }
  v1::TuningJobSpec spec = std::move(*job->mutable_spec());
  TakeChanges(*job, spec);
  for (const auto& [variable, value] : spec.trainer().environment()) {
    if (value != kHiddenValue) continue;
    return absl::PermissionDeniedError(
        fmt::format("--like: the values of the environment variables of {} are shown to its owner only: {}",
                    job->id(), Clean(variable)));
  }
  if (HasFront(spec) || spec.metric_constraints_size() > 0) {
    return absl::InvalidArgumentError(fmt::format(
        "--like: {} has several objectives or bounds on metrics; expected a job of one objective, whose "
        "results another job can begin with",
        job->id()));
  }
  spec.clear_warm_start();  // that job's own is among its results
  spec.mutable_warm_start()->add_jobs(job->id());
  spec.clear_initial_configurations();
  spec.set_seed(spec.seed() < INT64_MAX ? spec.seed() + 1 : 0);
  return spec;
}

absl::StatusOr<v1::TuningJobSpec> SpecOf(Session& session, const SubmitOptions& options) {
  if (options.file.empty() == options.like.empty()) {
    return UsageError(options.file.empty() ? "FILE: is missing; expected a job file, or --like JOB"
                                           : "--like: not with a job file; expected one of the two");
  }
  auto spec = options.like.empty() ? LoadJob(options.file, options.name) : SpecLike(session, options.like);
  if (!spec.ok()) return spec;
  if (!options.name.empty()) spec->set_name(options.name);
  if (options.max_trials > 0) spec->mutable_limits()->set_max_trials(options.max_trials);
  return spec;
}

}  // namespace

Exit Submit(Session& session, const SubmitOptions& options) {
  auto spec = SpecOf(session, options);
  if (!spec.ok()) return spec.status();
  SubmitOptions resolved = options;
  if (!options.like.empty()) resolved.like = spec->warm_start().jobs(0);  // which job "latest" was
  return SubmitSpec(session, *std::move(spec), resolved);
}

Exit SubmitSpec(Session& session, v1::TuningJobSpec spec, const SubmitOptions& options) {
  PrintWarnings(spec, &session.err);
  v1::CreateTuningJobRequest request;
  *request.mutable_spec() = std::move(spec);
  if (absl::Status status = SendSource(session, request); !status.ok()) return status;
  if (!options.like.empty() && request.has_source()) WarnOfOtherCode(session, options.like, request.source());
  request.set_project(options.project);
  const size_t mark = options.like.find('@');
  if (options.project.empty() && mark != std::string::npos)
    request.set_project(options.like.substr(mark + 1));
  request.set_request_id(options.request_id.empty() ? FreshRequestId() : options.request_id);
  const bool reached = session.client().Connects(absl::Now() + session.timeout);
  const auto job = session.client().Create(request);
  if (reached && IsLoss(job.status())) {
    return absl::Status(
        job.status().code(),
        fmt::format(
            "{}\nThe job may have been created anyway. To submit again without creating a second one, "
            "add --request-id {}",
            MessageOf(job.status()), request.request_id()));
  }
  if (!job.ok()) return job.status();

  if (job->warm_start_text().starts_with(kNoResultUsed))
    session.err.Print(fmt::format("winnow: warning: warm_start: {}\n", Clean(job->warm_start_text())));
  if (session.output == Output::kJson) {
    session.out.Print(ToJson(*job, options.watch));
  } else {
    std::string planned;
    if (job->planned_trials() > 0) planned += ", " + Count(job->planned_trials(), "trial") + " planned";
    if (job->planned_resource() > 0) planned += ", " + Count(job->planned_resource(), "unit");
    session.out.Print(fmt::format("{} is {}: {}{}\n", session.out.Paint(Style::kBold, job->id()),
                                  HasEnded(*job) ? "there already" : "running", StrategyText(job->spec()),
                                  planned));
    if (!options.watch) session.out.Print("Watch it with: " + session.Hint("watch " + job->id()) + "\n");
  }
  if (!options.watch) return kSuccess;
  return WatchFrom(session, *job, 0, {.verbose = options.verbose});
}

}  // namespace winnow::cli
