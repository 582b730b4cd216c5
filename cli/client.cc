#include "cli/client.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <mutex>
#include <utility>

#include "cli/text.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow::cli {
namespace {

constexpr int kMaxMessageBytes = 64 << 20;
constexpr absl::Duration kWatchDeadline = absl::Minutes(5);
constexpr absl::Duration kReplayWait = absl::Minutes(15);
constexpr int32_t kJobPage = 1000;
constexpr int32_t kTrialPage = 10000;
constexpr int32_t kPointPage = 100000;

bool IsLoopback(const std::string& host) {
  in_addr v4 = {};
  in6_addr v6 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

std::string Violations(const v1::BadRequest& request) {
  std::string text;
  for (const auto& violation : request.violations()) {
    text += fmt::format("\n  {}: {}", Clean(violation.field()), Clean(violation.description()));
  }
  return text;
}

// What gRPC says of a failed connection ends with the reason; the rest names its attempts.
std::string LastPart(const std::string& text) {
  const size_t colon = text.rfind(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// Rows to ask for when `had` of `limit` (0: all) are there and a page holds at most `most`.
int32_t PageSize(int64_t limit, int64_t had, int32_t most) {
  return limit == 0 ? most : static_cast<int32_t>(std::min<int64_t>(limit - had, most));
}

}  // namespace

absl::Status CheckServerAddress(const std::string& address) {
  const auto wrong = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" is not a server's address: {}; expected HOST:PORT, for example 127.0.0.1:7070",
                    Clean(address), why));
  };
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return wrong("the port is missing");
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return wrong("an IPv6 address needs brackets, as in [::1]:7070");
  }
  if (host.empty()) return wrong("the host is missing");
  int number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535) {
    return wrong(fmt::format("the port \"{}\" is not a number from 1 to 65535", Clean(port)));
  }
  if (!IsLoopback(host)) {
    return absl::InvalidArgumentError(fmt::format(
        "\"{}\" is not on this host: beyond loopback a connection needs TLS, which this version does "
        "not have. Run winnow on the server's host, or forward the port: "
        "ssh -L {}:127.0.0.1:{} {}",
        Clean(address), number, number, Clean(host)));
  }
  return absl::OkStatus();
}

bool IsLoss(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status) || absl::IsUnknown(status) ||
         absl::IsDeadlineExceeded(status);
}

struct Client::Connection {
  std::string server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::TuningService::Stub> stub;
  std::mutex mutex;
  grpc::ClientContext* watching = nullptr;  // guarded by mutex
  bool cancelled = false;                   // guarded by mutex

  // The only place where a call's deadline is set.
  static void SetDeadline(grpc::ClientContext& context, absl::Duration timeout) {
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(timeout));
  }

  template <class Request, class Response>
  absl::Status Call(grpc::Status (v1::TuningService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                    Response*),
                    const Request& request, Response* response, absl::Duration longest) const {
    grpc::ClientContext context;
    SetDeadline(context, longest);
    return Explain((stub.get()->*method)(&context, request, response), longest);
  }

  // What the user reads: the server's words, and what to do next.
  absl::Status Explain(const grpc::Status& status, absl::Duration longest) const {
    const std::string said = Clean(status.error_message());
    const auto code = static_cast<absl::StatusCode>(status.error_code());
    switch (status.error_code()) {
      case grpc::StatusCode::OK:
        return absl::OkStatus();
      case grpc::StatusCode::UNAVAILABLE:
        return absl::Status(
            code,
            fmt::format("cannot reach winnow-server at {0}: {1}\nStart it with: winnow-server --listen {0}\n"
                        "or name another with --server HOST:PORT or WINNOW_SERVER.",
                        server, LastPart(said)));
      case grpc::StatusCode::DEADLINE_EXCEEDED:
        return absl::Status(
            code, fmt::format("winnow-server at {} gave no answer within {} s.\nIt may be busy: try "
                              "again, or wait longer with --timeout SECONDS.",
                              server, absl::ToDoubleSeconds(longest)));
      case grpc::StatusCode::UNIMPLEMENTED:
        return absl::Status(
            code, fmt::format("the server at {} does not know this call: {}\nIs it a winnow-server, "
                              "and of this version? See winnow-server --version.",
                              server, said));
      case grpc::StatusCode::INVALID_ARGUMENT: {
        v1::BadRequest details;
        const bool listed = details.ParseFromString(status.error_details()) && details.violations_size() > 0;
        return absl::Status(code, listed ? "the server refuses it:" + Violations(details) : said);
      }
      default:
        return absl::Status(code, said);
    }
  }
};

Client::Client(std::string server, absl::Duration timeout)
    : timeout_(timeout), connection_(std::make_unique<Connection>()) {
  connection_->server = std::move(server);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);  // really: the patience with one try
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  connection_->channel =
      grpc::CreateCustomChannel(connection_->server, grpc::InsecureChannelCredentials(), arguments);
  connection_->stub = v1::TuningService::NewStub(connection_->channel);
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
        fmt::format("{}\nSee what there is with: winnow trials {}", std::string(status.message()), job));
  }
  if (ids.empty()) {
    return absl::NotFoundError(fmt::format(
        "there is no job \"{}\": there are no jobs yet. Start one with: winnow submit FILE", Clean(job)));
  }
  const std::vector<std::string> near = Nearest(job, ids);
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

absl::Status Client::Delete(const std::string& job) {
  v1::DeleteTuningJobRequest request;
  request.set_id(job);
  return Call<v1::DeleteTuningJobResponse>(&v1::TuningService::Stub::DeleteTuningJob, request, job).status();
}

absl::StatusOr<v1::ListTuningJobsResponse> Client::List(int64_t limit) {
  v1::ListTuningJobsResponse all;
  v1::ListTuningJobsRequest request;
  do {
    request.set_page_size(PageSize(limit, all.jobs_size(), kJobPage));
    auto page = Call<v1::ListTuningJobsResponse>(&v1::TuningService::Stub::ListTuningJobs, request);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    all.MergeFrom(*page);
  } while (!request.page_token().empty() && (limit == 0 || all.jobs_size() < limit));
  all.set_next_page_token(request.page_token());
  return all;
}

absl::StatusOr<v1::ListTrialsResponse> Client::Trials(v1::ListTrialsRequest request, int64_t limit) {
  const auto id = JobId(request.job_id());
  if (!id.ok()) return id.status();
  request.set_job_id(*id);
  v1::ListTrialsResponse all;
  do {
    request.set_page_size(PageSize(limit, all.trials_size(), kTrialPage));
    auto page = Call<v1::ListTrialsResponse>(&v1::TuningService::Stub::ListTrials, request, *id);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    all.MergeFrom(*page);
  } while (!request.page_token().empty() && (limit == 0 || all.trials_size() < limit));
  all.set_next_page_token(request.page_token());
  return all;
}

absl::StatusOr<v1::DescribeTrialResponse> Client::DescribeTrial(const std::string& job, int64_t trial) {
  const auto id = JobId(job);
  if (!id.ok()) return id.status();
  v1::DescribeTrialRequest request;
  request.set_job_id(*id);
  request.set_trial(trial);
  return Call<v1::DescribeTrialResponse>(&v1::TuningService::Stub::DescribeTrial, request, *id);
}

absl::StatusOr<v1::QueryMetricsResponse> Client::Metrics(v1::QueryMetricsRequest request) {
  const auto id = JobId(request.job_id());
  if (!id.ok()) return id.status();
  request.set_job_id(*id);
  request.set_page_size(kPointPage);
  v1::QueryMetricsResponse all;
  do {
    auto page = Call<v1::QueryMetricsResponse>(&v1::TuningService::Stub::QueryMetrics, request, *id);
    if (!page.ok()) return page.status();
    request.set_page_token(page->next_page_token());
    all.MergeFrom(*page);
  } while (!request.page_token().empty());
  all.clear_next_page_token();
  return all;
}

absl::StatusOr<v1::GetAnalyticsResponse> Client::Analytics(const std::string& job) {
  const auto id = JobId(job);
  if (!id.ok()) return id.status();
  v1::GetAnalyticsRequest request;
  request.set_job_id(*id);
  return Call<v1::GetAnalyticsResponse>(&v1::TuningService::Stub::GetAnalytics, request, *id);
}

absl::StatusOr<v1::ListWorkersResponse> Client::Workers(bool include_gone) {
  v1::ListWorkersRequest request;
  request.set_include_gone(include_gone);
  return Call<v1::ListWorkersResponse>(&v1::TuningService::Stub::ListWorkers, request);
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

absl::Status Client::Watch(const std::string& job, int64_t after_sequence,
                           const std::function<void(const v1::TuningJobEvent&)>& on_event) {
  v1::WatchTuningJobRequest request;
  request.set_id(job);
  request.set_after_sequence(after_sequence);
  grpc::ClientContext context;
  Connection::SetDeadline(context, kWatchDeadline);
  {
    const std::lock_guard lock(connection_->mutex);
    if (connection_->cancelled) return absl::CancelledError("the watch was cancelled");
    connection_->watching = &context;
  }
  const auto stream = connection_->stub->WatchTuningJob(&context, request);
  v1::TuningJobEvent event;
  while (stream->Read(&event)) on_event(event);
  const grpc::Status status = stream->Finish();
  {
    const std::lock_guard lock(connection_->mutex);
    connection_->watching = nullptr;
  }
  return ExplainUnknown(connection_->Explain(status, kWatchDeadline), job);
}

void Client::CancelWatch() {
  const std::lock_guard lock(connection_->mutex);
  connection_->cancelled = true;
  if (connection_->watching != nullptr) connection_->watching->TryCancel();
}

bool Client::AwaitConnection(absl::Time deadline) {
  return connection_->channel->WaitForConnected(absl::ToChronoTime(deadline));
}

}  // namespace winnow::cli
