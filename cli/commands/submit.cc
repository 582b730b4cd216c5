#include "cli/commands/actions.h"

#include <fmt/core.h>

#include <random>

#include "base/status_text.h"
#include "cli/commands/job_source.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

std::string FreshRequestId() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

Exit Submit(Session& session, const SubmitOptions& options) {
  auto spec = LoadJob(options.file, options.name);
  if (!spec.ok()) return spec.status();
  PrintWarnings(*spec, &session.err);
  v1::CreateTuningJobRequest request;
  *request.mutable_spec() = *std::move(spec);
  request.set_request_id(options.request_id.empty() ? FreshRequestId() : options.request_id);
  const auto job = session.client().Create(request);
  if (absl::IsDeadlineExceeded(job.status())) {
    return absl::DeadlineExceededError(fmt::format(
        "{}\nThe job may have been created anyway. To submit again without creating a second one, "
        "add --request-id {}",
        MessageOf(job.status()), request.request_id()));
  }
  if (!job.ok()) return job.status();

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
