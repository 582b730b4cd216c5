#include "server/sagemaker/jobs/winnow_calls.h"

#include <fmt/format.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/cord.h"
#include "artifact/manifest.h"
#include "server/grpc/auth.h"
#include "server/http/errors.h"

namespace winnow {
namespace {

constexpr std::chrono::seconds kCallPatience{60};
constexpr int kTrialPage = 10'000;
constexpr char kComes[] = "winnow.v1.ModelComes";

class CallContext {
 public:
  CallContext(const CallerOf& caller, const std::string& relay_key) {
    context_.AddMetadata(kRelayKey, relay_key);
    context_.AddMetadata(kRelayPeer, caller.peer);
    if (!caller.token.empty()) context_.AddMetadata("authorization", "Bearer " + caller.token);
    context_.set_deadline(std::chrono::system_clock::now() + kCallPatience);
  }
  grpc::ClientContext* get() { return &context_; }

 private:
  grpc::ClientContext context_;
};

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  std::string message = status.error_message();
  const auto error = nlohmann::json::parse(ErrorJson(status), nullptr, false);
  if (error.is_object() && error.contains("violations") && !error["violations"].empty()) {
    message.clear();  // it has the first of them
    for (const auto& violation : error["violations"]) {
      message += (message.empty() ? "" : "; ") + violation.value("field", "") + ": " +
                 violation.value("description", "");
    }
  }
  return {static_cast<absl::StatusCode>(status.error_code()), message};
}

template <typename Request>
Request RequestOf(const LogRequest& wanted) {
  Request request;
  request.set_job_id(wanted.job);
  request.set_trial(wanted.trial);
  request.set_attempt(wanted.attempt);
  request.set_rank(wanted.rank);
  request.set_stream(wanted.error ? v1::GetLogsRequest::STDERR : v1::GetLogsRequest::STDOUT);
  request.set_offset(wanted.offset);
  return request;
}

}  // namespace

bool ModelComes(const absl::Status& status) { return status.GetPayload(kComes).has_value(); }

WinnowCalls::WinnowCalls(const std::shared_ptr<grpc::Channel>& channel, std::string relay_key)
    : tuning_(v1::TuningService::NewStub(channel)),
      artifacts_(v1::ArtifactService::NewStub(channel)),
      admin_(v1::AdminService::NewStub(channel)),
      logs_(v1::LogService::NewStub(channel)),
      relay_key_(std::move(relay_key)) {}

absl::Status WinnowCalls::Send(const CallerOf& caller, const ScriptCode& code) {
  v1::FindMissingBlobsRequest wanted;
  for (const auto& [digest, bytes] : code.blobs) wanted.add_digests(digest);
  v1::FindMissingBlobsResponse missing;
  {
    CallContext context(caller, relay_key_);
    const grpc::Status status = artifacts_->FindMissingBlobs(context.get(), wanted, &missing);
    if (!status.ok()) return FromGrpc(status);
  }
  for (const std::string& digest : missing.digests()) {
    const std::string& bytes = code.blobs.at(digest);
    CallContext context(caller, relay_key_);
    v1::PutBlobResponse response;
    const auto writer = artifacts_->PutBlob(context.get(), &response);
    ForEachPart(digest, bytes, [&](const v1::BlobPart& part) { return writer->Write(part); });
    writer->WritesDone();
    if (absl::Status status = FromGrpc(writer->Finish()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status WinnowCalls::CheckUse(const CallerOf& caller, bool changes) {
  CallContext context(caller, relay_key_);
  v1::Caller known;
  const grpc::Status status = admin_->GetCaller(context.get(), v1::GetCallerRequest(), &known);
  if (!status.ok()) return FromGrpc(status);
  if (known.role() == v1::WORKER || (changes && known.role() == v1::VIEWER)) {
    return absl::PermissionDeniedError(
        fmt::format("the token of this access key is of role {}; expected one of role {}submitter or admin",
                    known.role() == v1::WORKER ? "worker" : "viewer", changes ? "" : "viewer, "));
  }
  const bool member =
      std::find(known.projects().begin(), known.projects().end(), caller.project) != known.projects().end();
  if (caller.project.empty() || known.role() == v1::ADMIN || member) return absl::OkStatus();
  return absl::PermissionDeniedError(fmt::format(
      "{} is no member of project {}, to which the access key's jobs belong", known.name(), caller.project));
}

absl::StatusOr<v1::TuningJob> WinnowCalls::Create(const CallerOf& caller, const JobPlan& plan,
                                                  const std::string& request_id) {
  v1::CreateTuningJobRequest request;
  *request.mutable_spec() = plan.spec;
  request.set_request_id(request_id);
  request.set_project(caller.project);
  if (plan.code) {
    if (absl::Status status = Send(caller, *plan.code); !status.ok()) return status;
    *request.mutable_source() = plan.code->source;
  }
  CallContext context(caller, relay_key_);
  v1::TuningJob job;
  const grpc::Status status = tuning_->CreateTuningJob(context.get(), request, &job);
  if (!status.ok()) return FromGrpc(status);
  return job;
}

absl::StatusOr<v1::TuningJob> WinnowCalls::Describe(const CallerOf& caller, const std::string& job) {
  CallContext context(caller, relay_key_);
  v1::DescribeTuningJobRequest request;
  request.set_id(job);
  v1::TuningJob described;
  const grpc::Status status = tuning_->DescribeTuningJob(context.get(), request, &described);
  if (!status.ok()) return FromGrpc(status);
  return described;
}

absl::Status WinnowCalls::Stop(const CallerOf& caller, const std::string& job) {
  CallContext context(caller, relay_key_);
  v1::StopTuningJobRequest request;
  request.set_id(job);
  v1::TuningJob described;
  return FromGrpc(tuning_->StopTuningJob(context.get(), request, &described));
}

absl::Status WinnowCalls::Delete(const CallerOf& caller, const std::string& job) {
  CallContext context(caller, relay_key_);
  v1::DeleteTuningJobRequest request;
  request.set_id(job);
  v1::DeleteTuningJobResponse response;
  return FromGrpc(tuning_->DeleteTuningJob(context.get(), request, &response));
}

absl::StatusOr<std::vector<v1::Trial>> WinnowCalls::Trials(const CallerOf& caller, const std::string& job) {
  std::vector<v1::Trial> trials;
  v1::ListTrialsRequest request;
  request.set_job_id(job);
  request.set_page_size(kTrialPage);
  do {
    CallContext context(caller, relay_key_);
    v1::ListTrialsResponse response;
    const grpc::Status status = tuning_->ListTrials(context.get(), request, &response);
    if (!status.ok()) return FromGrpc(status);
    for (v1::Trial& trial : *response.mutable_trials()) {
      if (trial.has_start_time()) trials.push_back(std::move(trial));
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return trials;
}

absl::StatusOr<std::vector<v1::MetricPoint>> WinnowCalls::Metrics(const CallerOf& caller,
                                                                  const std::string& job, int64_t trial,
                                                                  const std::string& metric) {
  std::vector<v1::MetricPoint> points;
  v1::QueryMetricsRequest request;
  request.set_job_id(job);
  request.add_trials(trial);
  if (!metric.empty()) request.add_metrics(metric);
  do {
    CallContext context(caller, relay_key_);
    v1::QueryMetricsResponse response;
    const grpc::Status status = tuning_->QueryMetrics(context.get(), request, &response);
    if (!status.ok()) return FromGrpc(status);
    points.insert(points.end(), response.points().begin(), response.points().end());
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return points;
}

absl::StatusOr<int64_t> WinnowCalls::Attempts(const CallerOf& caller, const std::string& job, int64_t trial) {
  CallContext context(caller, relay_key_);
  v1::DescribeTrialRequest request;
  request.set_job_id(job);
  request.set_trial(trial);
  v1::DescribeTrialResponse response;
  const grpc::Status status = tuning_->DescribeTrial(context.get(), request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response.trial().attempts();
}

absl::StatusOr<v1::GetLogsResponse> WinnowCalls::Logs(const CallerOf& caller, const LogRequest& wanted) {
  CallContext context(caller, relay_key_);
  v1::GetLogsResponse response;
  const grpc::Status status =
      tuning_->GetLogs(context.get(), RequestOf<v1::GetLogsRequest>(wanted), &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

absl::StatusOr<v1::GetLogTimesResponse> WinnowCalls::LogTimes(const CallerOf& caller,
                                                              const LogRequest& wanted) {
  CallContext context(caller, relay_key_);
  v1::GetLogTimesResponse response;
  const grpc::Status status =
      logs_->GetLogTimes(context.get(), RequestOf<v1::GetLogTimesRequest>(wanted), &response);
  if (!status.ok()) return FromGrpc(status);
  return response;
}

absl::StatusOr<v1::Artifact> WinnowCalls::Model(const CallerOf& caller, const std::string& job,
                                                int64_t trial) {
  CallContext context(caller, relay_key_);
  v1::GetArtifactRequest request;
  request.set_job_id(job);
  request.set_trial(trial);
  request.set_kind(v1::Artifact::MODEL);
  v1::Artifact model;
  const grpc::Status status = artifacts_->GetArtifact(context.get(), request, &model);
  if (status.ok()) return model;
  absl::Status refused = FromGrpc(status);
  if (status.error_details().find(kComes) != std::string::npos) refused.SetPayload(kComes, absl::Cord());
  return refused;
}

absl::Status WinnowCalls::Blob(const CallerOf& caller, const std::string& digest,
                               const std::function<absl::Status(const std::string&)>& receive) {
  CallContext context(caller, relay_key_);
  v1::GetBlobRequest request;
  request.set_digest(digest);
  const auto reader = artifacts_->GetBlob(context.get(), request);
  v1::BlobPart part;
  absl::Status received;
  while (received.ok() && reader->Read(&part)) received = receive(part.data());
  if (!received.ok()) context.get()->TryCancel();
  const absl::Status status = FromGrpc(reader->Finish());
  return received.ok() ? status : received;
}

}  // namespace winnow
