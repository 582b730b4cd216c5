#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/endpoint.h"
#include "winnow/v1/admin.pb.h"
#include "winnow/v1/audit.pb.h"
#include "winnow/v1/insight.pb.h"
#include "winnow/v1/pools.pb.h"
#include "winnow/v1/projects.pb.h"
#include "winnow/v1/tuning.pb.h"
#include "winnow/v1/webhooks.pb.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace winnow::cli {

// Whether the error means a lost connection or server, and not a refused request. A server that shuts down in
// the middle of a stream cancels it.
bool IsLoss(const absl::Status& status);

// Is given each page of a list as it comes, so that a list of any length takes the memory of one page.
template <class Page>
using TakePage = std::function<void(const Page&)>;

// Adds pages to `all`, a list as one message, whose page token is that of the next row, if there are more.
template <class Page>
TakePage<Page> AddTo(Page& all) {
  return [&all](const Page& page) {
    all.MergeFrom(page);
    all.set_next_page_token(page.next_page_token());
  };
}

// The server's services for commands. Every call has a deadline. Every error says what to do next and has the
// server's code. Each `job` may be "latest", the newest one. Thread-safe.
class Client {
 public:
  // Connects at first use; if there is no endpoint, or its files cannot be used, every call returns that
  // error.
  Client(const absl::StatusOr<Endpoint>& endpoint, absl::Duration timeout);
  ~Client();

  // Returns the id of `job`: itself, or the newest job's for "latest".
  absl::StatusOr<std::string> JobId(const std::string& job);

  absl::StatusOr<v1::TuningJob> Create(const v1::CreateTuningJobRequest& request);
  absl::StatusOr<v1::TuningJob> Describe(const std::string& job);
  absl::StatusOr<v1::TuningJob> Stop(const std::string& job);
  absl::StatusOr<v1::TuningJob> Change(const v1::ChangeTuningJobRequest& request);
  absl::Status Delete(const std::string& job);
  absl::StatusOr<v1::AnnotateResponse> Annotate(const v1::AnnotateRequest& request);
  // Newest first, at most `limit` (0: all); fills in the request's paging.
  absl::StatusOr<v1::ListTuningJobsResponse> List(int64_t limit, v1::ListTuningJobsRequest request = {});
  // The first `limit` trials (0: all), page by page; fills in the request's paging. total_size counts all.
  absl::Status Trials(v1::ListTrialsRequest request, int64_t limit,
                      const TakePage<v1::ListTrialsResponse>& take);
  absl::StatusOr<v1::DescribeTrialResponse> DescribeTrial(const std::string& job, int64_t trial);
  // The first `limit` points (0: all), page by page; fills in the request's paging.
  absl::Status Metrics(v1::QueryMetricsRequest request, int64_t limit,
                       const TakePage<v1::QueryMetricsResponse>& take);
  // The job, with the first page, and its trials.
  absl::Status Analytics(const std::string& job, const TakePage<v1::GetAnalyticsResponse>& take);
  absl::StatusOr<v1::ParetoFront> Front(const std::string& job);
  // The trial that violates metric_constraints least, of those that have a value and have not failed; absent:
  // there is none.
  absl::StatusOr<std::optional<v1::Trial>> NearestTrial(const std::string& job);
  absl::StatusOr<v1::Schedule> Schedule(const std::string& job, int64_t trial);
  absl::StatusOr<v1::Comparison> Compare(v1::CompareRequest request);
  absl::StatusOr<v1::ListWorkersResponse> Workers(bool include_gone);
  absl::StatusOr<v1::ListPoolsResponse> Pools();
  absl::StatusOr<v1::RenderPoolResponse> RenderPool(const std::string& pool, int32_t nodes);
  absl::StatusOr<v1::GetLogsResponse> Logs(const v1::GetLogsRequest& request);
  // Has minutes more than other calls, because the search model recomputes every answer.
  absl::StatusOr<v1::ReplayTuningJobResponse> Replay(const std::string& job);
  absl::StatusOr<v1::SuggestTrialsResponse> Suggest(const v1::SuggestTrialsRequest& request);
  absl::StatusOr<v1::ReportMetricsResponse> Report(const v1::ReportMetricsRequest& request);
  absl::StatusOr<v1::CompleteTrialResponse> Complete(const v1::CompleteTrialRequest& request);
  absl::StatusOr<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request);
  absl::StatusOr<v1::ListTokensResponse> Tokens();
  absl::StatusOr<v1::Caller> Caller();
  absl::StatusOr<v1::Token> RevokeToken(const std::string& id);
  // The newest entries, at most `limit`; fills in the request's paging.
  absl::StatusOr<v1::ListAuditEntriesResponse> Audit(v1::ListAuditEntriesRequest request, int64_t limit);
  absl::StatusOr<v1::ListProjectsResponse> Projects();
  absl::StatusOr<v1::Project> CreateProject(const std::string& name);
  absl::StatusOr<v1::Project> GetProject(const std::string& name);
  absl::StatusOr<v1::Project> SetProject(const v1::SetProjectRequest& request);
  absl::Status DeleteProject(const std::string& name);
  absl::StatusOr<v1::Project> AddMember(const v1::AddMemberRequest& request);
  absl::StatusOr<v1::Project> RemoveMember(const v1::RemoveMemberRequest& request);
  absl::StatusOr<v1::ListWebhooksResponse> Webhooks();
  // The newest deliveries, at most `limit`; fills in the request's paging.
  absl::StatusOr<v1::ListDeliveriesResponse> Deliveries(v1::ListDeliveriesRequest request, int64_t limit);
  absl::StatusOr<v1::Delivery> TestWebhook(const std::string& webhook);
  absl::StatusOr<v1::Worker> SetWorkerScheduling(const v1::SetWorkerSchedulingRequest& request);

  // Calls `on_part` for each part of a copy of the database, in order; stops at the first error it returns.
  absl::Status Backup(const std::function<absl::Status(const v1::BackupPart&)>& on_part);

  // Calls `on_event` for each event after `after_sequence` until the server ends the stream (OK: the job has
  // ended), the connection breaks (UNAVAILABLE), five minutes have passed (DEADLINE_EXCEEDED: continue from
  // the last sequence) or CancelWatch is called (CANCELLED). One watch at a time.
  absl::Status Watch(const std::string& job, int64_t after_sequence,
                     const std::function<void(const v1::TuningJobEvent&)>& on_event);
  void CancelWatch();

  // Tries to connect once, until `deadline`; returns whether there is a connection.
  bool Connects(absl::Time deadline);

  // Tries to connect until `deadline`; returns whether there is a connection.
  bool AwaitConnection(absl::Time deadline);

  // For streaming calls; Explain interprets their statuses.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel();
  absl::Status Explain(const grpc::Status& status);

 private:
  struct Connection;

  // A unary call that may last `wait` longer than others; `job`: the id it names, if any.
  template <class Response, class Request, class Method>
  absl::StatusOr<Response> Call(Method method, const Request& request, const std::string& job = "",
                                absl::Duration wait = absl::ZeroDuration());
  template <class Method, class Response>
  struct Pages {
    Pages(Method method_of_page, int (Response::*rows)() const, int32_t most_rows, int64_t row_limit)
        : method(method_of_page), size(rows), most(most_rows), limit(row_limit) {}
    Method method;
    int (Response::*size)() const;  // the rows of a page
    int32_t most;                   // rows of a page
    int64_t limit;                  // rows of all pages; 0: all that there are
  };
  template <class Method, class Request, class Response>
  absl::Status CallPages(const Pages<Method, Response>& pages, Request request,
                         const std::type_identity_t<TakePage<Response>>& take, const std::string& job = "");
  template <class Method, class Request, class Response>
  absl::StatusOr<Response> AllPages(const Pages<Method, Response>& pages, Request request);
  // Adds similar ids to a NOT_FOUND for `job`; returns any other status unchanged.
  absl::Status ExplainUnknown(absl::Status status, const std::string& job);

  const absl::Duration timeout_;
  const std::unique_ptr<Connection> connection_;
};

}  // namespace winnow::cli
