#include "cli/session/client.h"

#include <fmt/core.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/mutex.h"
#include "base/names.h"
#include "base/status_text.h"
#include "cli/output/text.h"
#include "rpc/channel.h"
#include "winnow/v1/admin.grpc.pb.h"
#include "winnow/v1/audit.grpc.pb.h"
#include "winnow/v1/insight.grpc.pb.h"
#include "winnow/v1/pools.grpc.pb.h"
#include "winnow/v1/projects.grpc.pb.h"
#include "winnow/v1/tuning.grpc.pb.h"
#include "winnow/v1/webhooks.grpc.pb.h"

namespace winnow::cli {
namespace {

constexpr absl::Duration kWatchDeadline = absl::Minutes(5);
constexpr absl::Duration kReplayWait = absl::Minutes(15);
constexpr absl::Duration kBackupWait = absl::Hours(6);  // for a large database over a slow connection
constexpr int32_t kJobPage = 1000;
constexpr int32_t kTrialPage = 10000;
constexpr int32_t kPointPage = 100000;
constexpr int32_t kAuditPage = 1000;  // of deliveries too

std::string Violations(const v1::BadRequest& request) {
  std::string text;
  for (const auto& violation : request.violations()) {
    text += fmt::format("\n  {}: {}", Clean(violation.field()), Clean(violation.description()));
  }
  return text;
}

// Returns the rows to ask for when `had` of `limit` (0: all) have arrived and a page holds at most `most`.
int32_t PageSize(int64_t limit, int64_t had, int32_t most) {
  return limit == 0 ? most : static_cast<int32_t>(std::min<int64_t>(limit - had, most));
}

}  // namespace

bool IsLoss(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status) || absl::IsUnknown(status) ||
         absl::IsDeadlineExceeded(status);
}

struct Client::Connection {
  Endpoint endpoint;
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel;
  std::unique_ptr<v1::TuningService::Stub> stub;  // null without a channel, as the next ones
  std::unique_ptr<v1::InsightService::Stub> insight;
  std::unique_ptr<v1::AdminService::Stub> admin;
  std::unique_ptr<v1::PoolService::Stub> pools;
  std::unique_ptr<v1::AuditService::Stub> audit;
  std::unique_ptr<v1::WebhookService::Stub> webhooks;
  std::unique_ptr<v1::ProjectService::Stub> projects;
  Mutex mutex;
  grpc::ClientContext* watching ABSL_GUARDED_BY(mutex) = nullptr;
  bool cancelled ABSL_GUARDED_BY(mutex) = false;

  // Only this function sets a call's deadline.
  static void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
  }

  v1::TuningService::Stub* StubOf(v1::TuningService::Stub*) const { return stub.get(); }
  v1::InsightService::Stub* StubOf(v1::InsightService::Stub*) const { return insight.get(); }
  v1::AdminService::Stub* StubOf(v1::AdminService::Stub*) const { return admin.get(); }
  v1::PoolService::Stub* StubOf(v1::PoolService::Stub*) const { return pools.get(); }
  v1::AuditService::Stub* StubOf(v1::AuditService::Stub*) const { return audit.get(); }
  v1::WebhookService::Stub* StubOf(v1::WebhookService::Stub*) const { return webhooks.get(); }
  v1::ProjectService::Stub* StubOf(v1::ProjectService::Stub*) const { return projects.get(); }

  template <class Stub, class Request, class Response>
  absl::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response, absl::Duration longest) const {
    if (!channel.ok()) return channel.status();
    grpc::ClientContext context;
    SetDeadline(context, longest);
    Stub* const called = StubOf(static_cast<Stub*>(nullptr));
    return Explain((called->*method)(&context, request, response), longest);
  }

  // Advice for an unreachable server.
  std::string Advice(const std::string& said) const {
    const bool is_http = said.find("http1.x") != std::string::npos || said.find("ALPN") != std::string::npos;
    if (is_http)
      return "\nA web server listens there, such as that of --http; expected the address of --listen.";
    const std::string other = "or name another with --server HOST:PORT or WINNOW_SERVER.";
    const bool here = !endpoint.UsesTls() && !endpoint.address.starts_with("unix:") &&
                      endpoint.address.find(',') == std::string::npos;
    return here ? fmt::format("\nStart it with: winnow-server --listen {}\n{}", endpoint.address, other) : "";
  }

  // The message for the user: the server's words and what to do next.
  absl::Status Explain(const grpc::Status& status, absl::Duration longest) const {
    const std::string said = Clean(status.error_message());
    const auto code = static_cast<absl::StatusCode>(status.error_code());
    switch (status.error_code()) {
      case grpc::StatusCode::OK:
        return absl::OkStatus();
      case grpc::StatusCode::UNAVAILABLE:
        return absl::Status(code, fmt::format("cannot reach winnow-server at {}: {}{}", endpoint.address,
                                              Clean(ExplainFailure(endpoint, status)), Advice(said)));
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return absl::Status(
            code, fmt::format("winnow-server at {} did not answer within {} s.\nIt may be busy: try "
                              "again, or wait longer with --timeout SECONDS.",
                              endpoint.address, absl::ToDoubleSeconds(longest)));
      case grpc::StatusCode::UNIMPLEMENTED:
        return absl::Status(
            code, fmt::format("the server at {} does not know this call: {}\nIs it a winnow-server, "
                              "and of this version? See winnow-server --version.",
                              endpoint.address, said));
      case grpc::StatusCode::INVALID_ARGUMENT: {
        v1::BadRequest details;
        // One alone is all that the message says.
        const bool listed = details.ParseFromString(status.error_details()) && details.violations_size() > 1;
        return absl::Status(code, listed ? "the server refused it:" + Violations(details) : said);
      }
      default:
        return absl::Status(code, said);
    }
  }
};

Client::Client(const absl::StatusOr<Endpoint>& endpoint, absl::Duration timeout)
    : timeout_(timeout), connection_(std::make_unique<Connection>()) {
  if (!endpoint.ok()) {
    connection_->channel = endpoint.status();
    return;
  }
  connection_->endpoint = *endpoint;
  connection_->channel = Connect(*endpoint);
  if (!connection_->channel.ok()) return;
  connection_->stub = v1::TuningService::NewStub(*connection_->channel);
  connection_->insight = v1::InsightService::NewStub(*connection_->channel);
  connection_->admin = v1::AdminService::NewStub(*connection_->channel);
  connection_->pools = v1::PoolService::NewStub(*connection_->channel);
  connection_->audit = v1::AuditService::NewStub(*connection_->channel);
  connection_->webhooks = v1::WebhookService::NewStub(*connection_->channel);
  connection_->projects = v1::ProjectService::NewStub(*connection_->channel);
}

Client::~Client() = default;

absl::StatusOr<std::string> Client::JobId(const std::string& job) {
  if (job != "latest") return job;
  const auto newest = List(1);
  if (!newest.ok()) return newest.status();
  if (newest->jobs().empty()) {
    return absl::NotFoundError(
        "there are no jobs yet, so there is no latest one. Start one with: winnow submit FILE");
  }
  return newest->jobs(0).id();
}

absl::Status Client::ExplainUnknown(absl::Status status, const std::string& job) {
  if (!absl::IsNotFound(status)) return status;
  const auto list = List(0);
  if (!list.ok()) return status;
  std::vector<std::string> ids;
  for (const auto& known : list->jobs()) ids.push_back(known.id());
  if (std::find(ids.begin(), ids.end(), job) != ids.end()) {
    return absl::NotFoundError(
        fmt::format("{}\nSee what there is with: winnow trials {}", MessageOf(status), job));
  }
  if (ids.empty()) {
    return absl::NotFoundError(fmt::format(
        "there is no job \"{}\": there are no jobs yet. Start one with: winnow submit FILE", Clean(job)));
  }
  const std::vector<std::string> near = NearestNames(job, ids);
  const std::string guess = near.empty() ? "" : fmt::format(" Did you mean {}?", OneOf(near));
  return absl::NotFoundError(
      fmt::format("there is no job \"{}\".{}\nSee all jobs with: winnow list", Clean(job), guess));
}

template <class Response, class Request, class Method>
absl::StatusOr<Response> Client::Call(Method method, const Request& request, const std::string& job,
                                      absl::Duration wait) {
  Response response;
  const absl::Status status = connection_->Call(method, request, &response, timeout_ + wait);
  if (!status.ok()) return job.empty() ? status : ExplainUnknown(status, job);
  return response;
}

template <class Method, class Request, class Response>
absl::Status Client::CallPages(const Pages<Method, Response>& pages, Request request,
                               const std::type_identity_t<TakePage<Response>>& take, const std::string& job) {
  int64_t rows = 0;
  do {
    request.set_page_size(PageSize(pages.limit, rows, pages.most));
    const auto page = Call<Response>(pages.method, request, job);
    if (!page.ok()) return page.status();
    take(*page);
    rows += ((*page).*pages.size)();
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty() && (pages.limit == 0 || rows < pages.limit));
  return absl::OkStatus();
}

template <class Method, class Request, class Response>
absl::StatusOr<Response> Client::AllPages(const Pages<Method, Response>& pages, Request request) {
  Response all;
  const absl::Status status = CallPages(pages, std::move(request), AddTo(all));
  if (!status.ok()) return status;
  return all;
}

absl::StatusOr<v1::TuningJob> Client::Create(const v1::CreateTuningJobRequest& request) {
  return Call<v1::TuningJob>(&v1::TuningService::Stub::CreateTuningJob, request);
}

absl::StatusOr<v1::TuningJob> Client::Describe(const std::string& job) {
  const auto id = JobId(job);
  if (!id.ok()) return id.status();
  v1::DescribeTuningJobRequest request;
  request.set_id(*id);
  return Call<v1::TuningJob>(&v1::TuningService::Stub::DescribeTuningJob, request, *id);
}

absl::StatusOr<v1::TuningJob> Client::Stop(const std::string& job) {
  const auto id = JobId(job);
  if (!id.ok()) return id.status();
  v1::StopTuningJobRequest request;
  request.set_id(*id);
  return Call<v1::TuningJob>(&v1::TuningService::Stub::StopTuningJob, request, *id);
}

absl::StatusOr<v1::TuningJob> Client::Change(const v1::ChangeTuningJobRequest& request) {
  return Call<v1::TuningJob>(&v1::TuningService::Stub::ChangeTuningJob, request, request.id());
}

absl::Status Client::Delete(const std::string& job) {
  v1::DeleteTuningJobRequest request;
  request.set_id(job);
  return Call<v1::DeleteTuningJobResponse>(&v1::TuningService::Stub::DeleteTuningJob, request, job).status();
}

absl::StatusOr<v1::AnnotateResponse> Client::Annotate(const v1::AnnotateRequest& request) {
  return Call<v1::AnnotateResponse>(&v1::TuningService::Stub::Annotate, request, request.job_id());
}

absl::StatusOr<v1::ListTuningJobsResponse> Client::List(int64_t limit, v1::ListTuningJobsRequest request) {
  return AllPages(Pages{&v1::TuningService::Stub::ListTuningJobs, &v1::ListTuningJobsResponse::jobs_size,
                        kJobPage, limit},
                  std::move(request));
}

absl::Status Client::Trials(v1::ListTrialsRequest request, int64_t limit,
                            const TakePage<v1::ListTrialsResponse>& take) {
  const auto id = JobId(request.job_id());
  if (!id.ok()) return id.status();
  request.set_job_id(*id);
  return CallPages(
      Pages{&v1::TuningService::Stub::ListTrials, &v1::ListTrialsResponse::trials_size, kTrialPage, limit},
      std::move(request), take, *id);
}

absl::StatusOr<v1::DescribeTrialResponse> Client::DescribeTrial(const std::string& job, int64_t trial) {
  const auto id = JobId(job);
  if (!id.ok()) return id.status();
  v1::DescribeTrialRequest request;
  request.set_job_id(*id);
  request.set_trial(trial);
  return Call<v1::DescribeTrialResponse>(&v1::TuningService::Stub::DescribeTrial, request, *id);
}

absl::Status Client::Metrics(v1::QueryMetricsRequest request, int64_t limit,
                             const TakePage<v1::QueryMetricsResponse>& take) {
  const auto id = JobId(request.job_id());
  if (!id.ok()) return id.status();
  request.set_job_id(*id);
  return CallPages(Pages{&v1::TuningService::Stub::QueryMetrics, &v1::QueryMetricsResponse::points_size,
                         kPointPage, limit},
                   std::move(request), take, *id);
}

absl::Status Client::Analytics(const std::string& job, const TakePage<v1::GetAnalyticsResponse>& take) {
  const auto id = JobId(job);
  if (!id.ok()) return id.status();
  v1::GetAnalyticsRequest request;
  request.set_job_id(*id);
  return CallPages(
      Pages{&v1::TuningService::Stub::GetAnalytics, &v1::GetAnalyticsResponse::trials_size, kTrialPage, 0},
      std::move(request), take, *id);
}

absl::StatusOr<v1::ParetoFront> Client::Front(const std::string& job) {
  const auto id = JobId(job);
  if (!id.ok()) return id.status();
  v1::GetParetoFrontRequest request;
  request.set_job_id(*id);
  return Call<v1::ParetoFront>(&v1::TuningService::Stub::GetParetoFront, request, *id);
}

absl::StatusOr<std::optional<v1::Trial>> Client::NearestTrial(const std::string& job) {
  v1::QueryTrialsRequest request;
  request.set_job_id(job);
  request.add_filters("#objective:..");
  request.add_filters("#state:pending|running|paused|completed|pruned|cancelled");
  request.set_order_by("violation");
  request.set_limit(1);
  auto found = Call<v1::QueryTrialsResponse>(&v1::InsightService::Stub::QueryTrials, request, job);
  if (!found.ok()) return found.status();
  if (found->trials().empty()) return std::nullopt;
  return found->trials(0);
}

absl::StatusOr<v1::Schedule> Client::Schedule(const std::string& job, int64_t trial) {
  const auto id = JobId(job);
  if (!id.ok()) return id.status();
  v1::GetScheduleRequest request;
  request.set_job_id(*id);
  request.set_trial(trial);
  return Call<v1::Schedule>(&v1::TuningService::Stub::GetSchedule, request, *id);
}

absl::StatusOr<v1::Comparison> Client::Compare(v1::CompareRequest request) {
  for (std::string& job : *request.mutable_job_ids()) {
    auto id = JobId(job);
    if (!id.ok()) return id.status();
    job = *std::move(id);
  }
  auto comparison = Call<v1::Comparison>(&v1::InsightService::Stub::Compare, request);
  if (!absl::IsNotFound(comparison.status())) return comparison;
  const std::string said(comparison.status().message());
  const auto unknown = std::find_if(
      request.job_ids().begin(), request.job_ids().end(),
      [&](const std::string& id) { return said.find(fmt::format("\"{}\"", id)) != std::string::npos; });
  if (unknown == request.job_ids().end()) return comparison;
  return ExplainUnknown(comparison.status(), *unknown);
}

absl::StatusOr<v1::ListWorkersResponse> Client::Workers(bool include_gone) {
  v1::ListWorkersRequest request;
  request.set_include_gone(include_gone);
  return Call<v1::ListWorkersResponse>(&v1::TuningService::Stub::ListWorkers, request);
}

absl::StatusOr<v1::ListPoolsResponse> Client::Pools() {
  return Call<v1::ListPoolsResponse>(&v1::PoolService::Stub::ListPools, v1::ListPoolsRequest());
}

absl::StatusOr<v1::RenderPoolResponse> Client::RenderPool(const std::string& pool, int32_t nodes) {
  v1::RenderPoolRequest request;
  request.set_name(pool);
  request.set_nodes(nodes);
  return Call<v1::RenderPoolResponse>(&v1::PoolService::Stub::RenderPool, request);
}

absl::StatusOr<v1::GetLogsResponse> Client::Logs(const v1::GetLogsRequest& request) {
  const absl::Duration wait =
      absl::Seconds(request.wait().seconds()) + absl::Nanoseconds(request.wait().nanos());
  return Call<v1::GetLogsResponse>(&v1::TuningService::Stub::GetLogs, request, request.job_id(), wait);
}

absl::StatusOr<v1::ReplayTuningJobResponse> Client::Replay(const std::string& job) {
  const auto id = JobId(job);
  if (!id.ok()) return id.status();
  v1::ReplayTuningJobRequest request;
  request.set_id(*id);
  return Call<v1::ReplayTuningJobResponse>(&v1::TuningService::Stub::ReplayTuningJob, request, *id,
                                           kReplayWait);
}

absl::StatusOr<v1::SuggestTrialsResponse> Client::Suggest(const v1::SuggestTrialsRequest& request) {
  const absl::Duration wait =
      absl::Seconds(request.wait().seconds()) + absl::Nanoseconds(request.wait().nanos());
  return Call<v1::SuggestTrialsResponse>(&v1::TuningService::Stub::SuggestTrials, request, request.job_id(),
                                         wait);
}

absl::StatusOr<v1::ReportMetricsResponse> Client::Report(const v1::ReportMetricsRequest& request) {
  return Call<v1::ReportMetricsResponse>(&v1::TuningService::Stub::ReportMetrics, request, request.job_id());
}

absl::StatusOr<v1::CompleteTrialResponse> Client::Complete(const v1::CompleteTrialRequest& request) {
  return Call<v1::CompleteTrialResponse>(&v1::TuningService::Stub::CompleteTrial, request, request.job_id());
}

absl::StatusOr<v1::CreateTokenResponse> Client::CreateToken(const v1::CreateTokenRequest& request) {
  return Call<v1::CreateTokenResponse>(&v1::AdminService::Stub::CreateToken, request);
}

absl::StatusOr<v1::ListTokensResponse> Client::Tokens() {
  return Call<v1::ListTokensResponse>(&v1::AdminService::Stub::ListTokens, v1::ListTokensRequest());
}

absl::StatusOr<v1::Worker> Client::SetWorkerScheduling(const v1::SetWorkerSchedulingRequest& request) {
  return Call<v1::Worker>(&v1::AdminService::Stub::SetWorkerScheduling, request);
}

absl::StatusOr<v1::ListAuditEntriesResponse> Client::Audit(v1::ListAuditEntriesRequest request,
                                                           int64_t limit) {
  return AllPages(Pages{&v1::AuditService::Stub::ListAuditEntries,
                        &v1::ListAuditEntriesResponse::entries_size, kAuditPage, limit},
                  std::move(request));
}

absl::StatusOr<v1::Caller> Client::Caller() {
  return Call<v1::Caller>(&v1::AdminService::Stub::GetCaller, v1::GetCallerRequest());
}

absl::StatusOr<v1::ListProjectsResponse> Client::Projects() {
  return Call<v1::ListProjectsResponse>(&v1::ProjectService::Stub::ListProjects, v1::ListProjectsRequest());
}

absl::StatusOr<v1::Project> Client::CreateProject(const std::string& name) {
  v1::CreateProjectRequest request;
  request.set_name(name);
  return Call<v1::Project>(&v1::ProjectService::Stub::CreateProject, request);
}

absl::StatusOr<v1::Project> Client::GetProject(const std::string& name) {
  v1::GetProjectRequest request;
  request.set_project(name);
  return Call<v1::Project>(&v1::ProjectService::Stub::GetProject, request);
}

absl::StatusOr<v1::Project> Client::SetProject(const v1::SetProjectRequest& request) {
  return Call<v1::Project>(&v1::ProjectService::Stub::SetProject, request);
}

absl::Status Client::DeleteProject(const std::string& name) {
  v1::DeleteProjectRequest request;
  request.set_project(name);
  return Call<v1::DeleteProjectResponse>(&v1::ProjectService::Stub::DeleteProject, request).status();
}

absl::StatusOr<v1::Project> Client::AddMember(const v1::AddMemberRequest& request) {
  return Call<v1::Project>(&v1::ProjectService::Stub::AddMember, request);
}

absl::StatusOr<v1::Project> Client::RemoveMember(const v1::RemoveMemberRequest& request) {
  return Call<v1::Project>(&v1::ProjectService::Stub::RemoveMember, request);
}

absl::StatusOr<v1::ListWebhooksResponse> Client::Webhooks() {
  return Call<v1::ListWebhooksResponse>(&v1::WebhookService::Stub::ListWebhooks, v1::ListWebhooksRequest());
}

absl::StatusOr<v1::ListDeliveriesResponse> Client::Deliveries(v1::ListDeliveriesRequest request,
                                                              int64_t limit) {
  return AllPages(Pages{&v1::WebhookService::Stub::ListDeliveries,
                        &v1::ListDeliveriesResponse::deliveries_size, kAuditPage, limit},
                  std::move(request));
}

absl::StatusOr<v1::Delivery> Client::TestWebhook(const std::string& webhook) {
  v1::TestWebhookRequest request;
  request.set_name(webhook);
  return Call<v1::Delivery>(&v1::WebhookService::Stub::TestWebhook, request);
}

absl::StatusOr<v1::Token> Client::RevokeToken(const std::string& id) {
  v1::RevokeTokenRequest request;
  request.set_id(id);
  return Call<v1::Token>(&v1::AdminService::Stub::RevokeToken, request);
}

absl::Status Client::Backup(const std::function<absl::Status(const v1::BackupPart&)>& on_part) {
  if (!connection_->channel.ok()) return connection_->channel.status();
  grpc::ClientContext context;
  const absl::Duration longest = timeout_ + kBackupWait;
  Connection::SetDeadline(context, longest);
  auto parts = connection_->admin->Backup(&context, v1::BackupRequest());
  v1::BackupPart part;
  absl::Status taken;
  while (taken.ok() && parts->Read(&part)) taken = on_part(part);
  if (!taken.ok()) context.TryCancel();
  const grpc::Status status = parts->Finish();
  return taken.ok() ? connection_->Explain(status, longest) : taken;
}

absl::Status Client::Watch(const std::string& job, int64_t after_sequence,
                           const std::function<void(const v1::TuningJobEvent&)>& on_event) {
  if (!connection_->channel.ok()) return connection_->channel.status();
  v1::WatchTuningJobRequest request;
  request.set_id(job);
  request.set_after_sequence(after_sequence);
  grpc::ClientContext context;
  Connection::SetDeadline(context, kWatchDeadline);
  {
    MutexLock lock(connection_->mutex);
    if (connection_->cancelled) return absl::CancelledError("the watch was cancelled");
    connection_->watching = &context;
  }
  const auto stream = connection_->stub->WatchTuningJob(&context, request);
  v1::TuningJobEvent event;
  while (stream->Read(&event)) on_event(event);
  const grpc::Status status = stream->Finish();
  {
    MutexLock lock(connection_->mutex);
    connection_->watching = nullptr;
  }
  return ExplainUnknown(connection_->Explain(status, kWatchDeadline), job);
}

void Client::CancelWatch() {
  MutexLock lock(connection_->mutex);
  connection_->cancelled = true;
  if (connection_->watching != nullptr) connection_->watching->TryCancel();
}

bool Client::Connects(absl::Time deadline) {
  if (!connection_->channel.ok()) return false;
  grpc::Channel& channel = **connection_->channel;
  grpc_connectivity_state state = channel.GetState(true);
  while (state != GRPC_CHANNEL_READY) {
    const bool failed = state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN;
    if (failed || !channel.WaitForStateChange(state, absl::ToChronoTime(deadline))) return false;
    state = channel.GetState(true);
  }
  return true;
}

bool Client::AwaitConnection(absl::Time deadline) {
  return connection_->channel.ok() && (*connection_->channel)->WaitForConnected(absl::ToChronoTime(deadline));
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Client::channel() { return connection_->channel; }

absl::Status Client::Explain(const grpc::Status& status) { return connection_->Explain(status, timeout_); }

}  // namespace winnow::cli
