#include "server/sagemaker/jobs/job_starter.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_text.h"
#include "server/sagemaker/jobs/search_spec.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/digests.h"

namespace winnow {
namespace {

using nlohmann::json;

std::string RequestIdOf(const SagemakerJob& row, size_t index) {
  std::string of =
      fmt::format("{}/{}/{}/{}", row.account, static_cast<int>(row.kind), row.name, row.created_us);
  if (index > 0) of += fmt::format("/{}", index);
  return "sagemaker-" + absl::BytesToHexString(Sha256Bytes(of)).substr(0, 40);
}

}  // namespace

absl::Status NoTuningJob(const std::string& name) {
  return AwsError(
      "ResourceNotFound",
      fmt::format("Amazon SageMaker can't find a tuning job called {}. Check the name of the job, and its "
                  "region, and try again.",
                  name));
}

absl::Status OfWinnow(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
      return AwsError("ValidationException", MessageOf(status));
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return AwsError("AccessDeniedException", MessageOf(status));
    case absl::StatusCode::kResourceExhausted:
      return AwsError("ThrottlingException", MessageOf(status));
    default:
      return status;
  }
}

absl::StatusOr<std::vector<JobPlan>> JobStarter::PlansOf(const SagemakerJob& row, const json& request) {
  SpecContext context{row.account, objects_, {}, s3_endpoint_(), {}, row.region, images_};
  for (const json& parent : ListIn(ObjectIn(request, "WarmStartConfig"), "ParentHyperParameterTuningJobs")) {
    const std::string name = TextIn(parent, "HyperParameterTuningJobName");
    const auto found = table_.Find(row.account, SagemakerJob::kTuning, name);
    if (!found.ok()) return found.status();
    if (!found->has_value()) return NoTuningJob(name);
    if (!(*found)->ended())
      return AwsError("ValidationException",
                      fmt::format("The parent tuning job {} is {}; expected one that has ended.", name,
                                  (*found)->status));
    WarmStartParent& known = context.parents[name];
    const json earlier = json::parse((*found)->request);
    known.jobs = (*found)->winnow_jobs();
    for (size_t i = 0; i < DefinitionCount(earlier); ++i) {
      known.definitions.push_back(TextIn(DefinitionOf(earlier, i), "DefinitionName"));
      known.metrics.push_back(TextIn(ObjectiveOf(earlier, i), "MetricName"));
    }
  }
  if (row.kind == SagemakerJob::kTuning) context.reused = row.trial;
  context.elapsed_seconds = (absl::ToUnixMicros(absl::Now()) - row.created_us) / 1'000'000;
  const std::string id = "WNWJ" + absl::AsciiStrToUpper(RandomHex(8));
  const std::string secret = RandomHex(20);
  context.environment = {{"AWS_ACCESS_KEY_ID", id},
                         {"AWS_SECRET_ACCESS_KEY", secret},
                         {"AWS_REGION", row.region},
                         {"AWS_DEFAULT_REGION", row.region},
                         {"AWS_ENDPOINT_URL_S3", context.endpoint},
                         // What scripts write is put into buckets by it, also if they have other keys.
                         {kScriptAccess, fmt::format("{}:{}@{}", id, secret, context.endpoint)}};
  std::vector<JobPlan> plans;
  if (row.kind == SagemakerJob::kTuning) {
    absl::StatusOr<std::vector<JobPlan>> several = PlanTuningJob(request, context);
    if (!several.ok()) return several.status();
    plans = *std::move(several);
  } else {
    absl::StatusOr<JobPlan> single = PlanTrainingJob(request, context);
    if (!single.ok()) return single.status();
    plans.push_back(*std::move(single));
  }
  if (absl::Status status = table_.AddJobKey(id, secret, row); !status.ok()) return status;
  return plans;
}

absl::StatusOr<std::string> JobStarter::Create(const SagemakerJob& row, const JobPlan& plan, size_t index,
                                               const CallerOf& caller) {
  const absl::StatusOr<v1::TuningJob> job = calls_.Create(caller, plan, RequestIdOf(row, index));
  if (!job.ok()) return OfWinnow(job.status());
  return job->id();
}

bool JobStarter::BeginCreation(const SagemakerJob& row) {
  MutexLock lock(mutex_);
  return creating_.insert(ArnOf(row)).second;
}

void JobStarter::EndCreation(const SagemakerJob& row) {
  MutexLock lock(mutex_);
  creating_.erase(ArnOf(row));
}

absl::StatusOr<std::string> JobStarter::Start(const SagemakerJob& row, const CallerOf& caller) {
  if (s3_endpoint_().empty()) return absl::UnavailableError("the endpoint is not known yet");
  const json request = json::parse(row.request);
  const absl::StatusOr<std::vector<JobPlan>> plans = PlansOf(row, request);
  if (!plans.ok()) return plans.status();
  const size_t count =
      plans->size() == 1 ? 1 : JobsAtATime(request["HyperParameterTuningJobConfig"], plans->size());
  std::vector<std::string> ids;
  for (size_t i = 0; i < count; ++i) {
    const absl::StatusOr<std::string> id = Create(row, (*plans)[i], i, caller);
    if (id.ok()) {
      ids.push_back(*id);
      continue;
    }
    // The follower starts it, as those that wait for others.
    if (MayPass(id.status()) && !ids.empty()) break;
    // All or none.
    for (const std::string& begun : ids) (void)calls_.Stop(caller, begun);
    return id.status();
  }
  return absl::StrJoin(ids, " ");
}

absl::StatusOr<std::string> JobStarter::StartNext(const SagemakerJob& row, const CallerOf& caller) {
  if (s3_endpoint_().empty()) return absl::UnavailableError("the endpoint is not known yet");
  const absl::StatusOr<std::vector<JobPlan>> plans = PlansOf(row, json::parse(row.request));
  if (!plans.ok()) return plans.status();
  const size_t next = row.winnow_jobs().size();
  if (next >= plans->size()) return absl::OutOfRangeError("all jobs have begun");
  return Create(row, (*plans)[next], next, caller);
}

}  // namespace winnow
