#include "server/sagemaker/sagemaker_app.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/status_text.h"
#include "base/task_threads.h"
#include "server/http/later_answer.h"
#include "server/sagemaker/jobs/follower.h"
#include "server/sagemaker/jobs/job_service.h"
#include "server/sagemaker/jobs/job_starter.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/jobs/training_image.h"
#include "server/sagemaker/jobs/winnow_calls.h"
#include "server/sagemaker/monitoring/log_events.h"
#include "server/sagemaker/monitoring/metric_statistics.h"
#include "server/sagemaker/s3/object_store.h"
#include "server/sagemaker/s3/s3_service.h"
#include "server/sagemaker/wire/access_keys.h"
#include "server/sagemaker/wire/aws_call.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/digests.h"
#include "server/sagemaker/wire/identity.h"
#include "server/sagemaker/wire/signature.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr int kAnswerThreads = 8;
constexpr int kConnectionThreads = 2;
// The largest object that is sent at once, or part of one; larger objects come in parts.
constexpr size_t kMostBody = 64 << 20;
constexpr size_t kMostWaiting = 1'000;
// Requests of all services but S3 are read before their signature is checked, which needs the body.
constexpr size_t kCallBody = 2 << 20;
constexpr size_t kUnknownBody = 16 << 10;
constexpr char kFollowerPeer[] = "ipv4:127.0.0.1:0";

// 8-4-4-4-12 hexadecimal digits.
std::string NewRequestId() {
  std::string id = RandomHex(16);
  for (const size_t at : {8, 13, 18, 23}) id.insert(at, "-");
  return id;
}

// An error in the form that clients of the request's service read.
HttpAnswer ErrorAnswer(const HttpRequest& request, const absl::Status& status) {
  const std::string service = ServiceOf(request);
  const bool s3 = service == "s3" || (service.empty() && request.header("x-amz-target").empty());
  return s3 ? S3Service::Error(status, request.target, NewRequestId())
            : WriteAwsAnswer(request, service, "", status, NewRequestId());
}

// Whether a call of a service other than S3 does; all but SageMaker are only looked at.
bool ChangesSomething(const AwsCall& call) {
  constexpr std::array<std::string_view, 4> kVerbs = {"Add", "Create", "Delete", "Stop"};
  return std::any_of(kVerbs.begin(), kVerbs.end(),
                     [&](std::string_view verb) { return call.operation.starts_with(verb); });
}

HttpRequest WithoutBody(const HttpRequest& request) {
  return {request.method, request.target, request.headers, "", request.peer};
}

}  // namespace

class SagemakerApp::Parts {
 public:
  Parts(SagemakerOptions options, AccessKeys keys, TrainingImages images,
        std::unique_ptr<SagemakerJobs> table, std::unique_ptr<ObjectStore> objects,
        const std::shared_ptr<grpc::Channel>& channel)
      : url_(std::move(options.url)),
        keys_(std::move(keys)),
        table_(std::move(table)),
        objects_(std::move(objects)),
        calls_(channel, std::move(options.relay_key)),
        starter_(*table_, *objects_, calls_, std::move(images), [this] { return url(); }),
        follower_(*table_, *objects_, calls_, starter_,
                  [this](const SagemakerJob& row) { return CallerOfKey(row.key_id, kFollowerPeer); }),
        s3_(*objects_),
        jobs_(*table_, calls_, starter_, follower_),
        metrics_(*table_, calls_),
        logs_(*table_, calls_),
        threads_(kAnswerThreads) {}

  // A request that nobody thought of must not end the server.
  HttpAnswer SafeAnswer(const HttpRequest& request) {
    try {
      return Answer(request);
    } catch (const std::exception& exception) {
      spdlog::error("SageMaker: a request to {} failed: {}", request.target, exception.what());
      return ErrorAnswer(request, AwsError("InternalFailure", "The request failed within the server."));
    }
  }

  HttpAnswer Answer(const HttpRequest& request) {
    std::string account;
    const absl::StatusOr<Signer> signer = Check(request, SignedPart::kAll, account);
    if (!signer.ok()) return ErrorAnswer(request, signer.status());
    const std::string request_id = NewRequestId();
    const bool s3 = signer->service == "s3";
    const absl::StatusOr<AwsCall> call =
        s3 ? absl::StatusOr<AwsCall>(AwsCall()) : ReadAwsCall(request, signer->service);
    const bool changes =
        s3 ? request.method != "GET" && request.method != "HEAD" : call.ok() && ChangesSomething(*call);
    if (const absl::Status may = MayUse(*signer, request.peer, changes); !may.ok())
      return ErrorAnswer(request, may);
    if (s3) return s3_.Answer(request, account, request_id);
    if (!call.ok()) return WriteAwsAnswer(request, signer->service, "", call.status(), request_id);
    return WriteAwsAnswer(request, signer->service, call->operation,
                          Called(*call, request.peer, *signer, account), request_id);
  }

  HttpAnswer Admit(const HttpRequest& request) {
    std::string account;
    const absl::StatusOr<Signer> signer = Check(request, SignedPart::kHead, account);
    return signer.ok() ? HttpAnswer() : ErrorAnswer(request, signer.status());
  }

  std::shared_ptr<Exchange> OnThread(HttpRequest head, std::function<HttpAnswer()> work) {
    return std::make_shared<LaterAnswer>(
        [this, head = std::move(head), work = std::move(work)](const LaterAnswer::Tell& tell) {
          if (threads_.PostWithin(kMostWaiting, [work, tell] { tell(work()); })) return;
          tell(ErrorAnswer(head, AwsError(ServiceOf(head) == "s3" ? "SlowDown" : "ServiceUnavailable",
                                          "Too many requests at a time; try again.")));
        });
  }

  std::string url() {
    MutexLock lock(mutex_);
    return url_;
  }
  void SetUrl(const std::string& url) {
    {
      MutexLock lock(mutex_);
      if (url_.empty()) url_ = url;
    }
    follower_.Wake();  // creations that were cut off can be finished
  }
  void AnnounceStop() { follower_.AnnounceStop(); }

 private:
  // `account`: of the key.
  absl::StatusOr<Signer> Check(const HttpRequest& request, SignedPart part, std::string& account) {
    const SecretOf secret_of = [&](std::string_view id) -> std::optional<std::string> {
      if (const AccessKey* key = keys_.Find(id)) {
        account = key->account;
        return key->secret;
      }
      const auto of_job = table_->FindJobKey(std::string(id));
      if (!of_job.ok() || !of_job->has_value()) return std::nullopt;
      account = (*of_job)->account;
      return (*of_job)->secret;
    };
    return CheckSignature(request, secret_of, absl::ToUnixSeconds(absl::Now()), part);
  }

  // AccessDenied: the token of the key is not valid, has no role for this, or is not of a member of the key's
  // project. The key of a job has no token; it may use S3 only.
  absl::Status MayUse(const Signer& signer, const std::string& peer, bool changes) {
    const AccessKey* key = keys_.Find(signer.key_id);
    if (key == nullptr || key->token.empty()) return absl::OkStatus();
    const absl::Status may = calls_.CheckUse(CallerOfKey(signer.key_id, peer), changes);
    if (may.ok()) return may;
    const bool s3 = signer.service == "s3";
    if (absl::IsUnauthenticated(may) || absl::IsPermissionDenied(may))
      return AwsError(s3 ? "AccessDenied" : "AccessDeniedException", MessageOf(may));
    return AwsError(s3 ? "SlowDown" : "ThrottlingException", MessageOf(may));
  }

  CallerOf CallerOfKey(const std::string& key_id, const std::string& peer) const {
    const AccessKey* key = keys_.Find(key_id);
    return key == nullptr ? CallerOf{peer, ""} : CallerOf{peer, key->token, key->project};
  }

  // What a service other than S3 answers.
  absl::StatusOr<json> Called(const AwsCall& call, const std::string& peer, const Signer& signer,
                              const std::string& account) {
    const AccessKey* key = keys_.Find(signer.key_id);
    if (signer.service == "sts" || signer.service == "iam") {
      const std::string user = key == nullptr ? "job" : key->name.empty() ? key->id : key->name;
      return AnswerIdentity(call, account, user, signer.key_id);
    }
    // Processes of jobs have their account's objects, and nothing else.
    if (key == nullptr) return AwsError("AccessDeniedException", "The key of a job may use S3 only.");
    const JobCaller caller{account, signer.region, signer.key_id, CallerOfKey(signer.key_id, peer)};
    if (signer.service == "sagemaker") return jobs_.Call(call.operation, call.body, caller);
    if (signer.service == "monitoring")
      return metrics_.Call(call.operation, call.body, account, caller.winnow);
    if (signer.service == "logs") return logs_.Call(call.operation, call.body, account, caller.winnow);
    return AwsError("UnknownOperationException",
                    "The service " + signer.service + " is not offered by Winnow.");
  }

  Mutex mutex_;
  std::string url_ ABSL_GUARDED_BY(mutex_);
  const AccessKeys keys_;
  const std::unique_ptr<SagemakerJobs> table_;
  const std::unique_ptr<ObjectStore> objects_;
  WinnowCalls calls_;
  JobStarter starter_;
  Follower follower_;
  S3Service s3_;
  JobService jobs_;
  MetricStatistics metrics_;
  LogEvents logs_;
  TaskThreads threads_;  // destroyed first
};

SagemakerApp::SagemakerApp(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SagemakerApp::~SagemakerApp() = default;

absl::StatusOr<std::unique_ptr<SagemakerApp>> SagemakerApp::Open(
    SagemakerOptions options, const std::shared_ptr<grpc::Channel>& channel) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  std::filesystem::permissions(options.folder, std::filesystem::perms::owner_all, error);
  if (error)
    return absl::FailedPreconditionError("cannot create " + options.folder.string() + ": " + error.message());
  const std::filesystem::path own_keys = options.folder / "keys.json";
  if (options.keys_file.empty() && !options.tokens_required) {
    if (absl::Status status = CreateFirstKey(own_keys); !status.ok()) return status;
  }
  absl::StatusOr<AccessKeys> keys =
      AccessKeys::Open(options.keys_file.empty() ? own_keys : options.keys_file, options.tokens_required);
  if (!keys.ok()) return keys.status();
  absl::StatusOr<TrainingImages> images =
      options.images_file.empty() ? TrainingImages() : TrainingImages::Open(options.images_file);
  if (!images.ok()) return images.status();
  absl::StatusOr<std::unique_ptr<SagemakerJobs>> table = SagemakerJobs::Open(options.folder / "jobs.db");
  if (!table.ok()) return table.status();
  absl::StatusOr<std::unique_ptr<ObjectStore>> objects = ObjectStore::Open(options.folder / "objects");
  if (!objects.ok()) return objects.status();
  return std::unique_ptr<SagemakerApp>(
      new SagemakerApp(std::make_unique<Parts>(std::move(options), *std::move(keys), *std::move(images),
                                               *std::move(table), *std::move(objects), channel)));
}

HttpListenOptions SagemakerApp::ListenOptions() {
  HttpListenOptions options;
  options.flag = "--sagemaker";
  options.limits.body_bytes = kMostBody;
  options.threads = kConnectionThreads;
  return options;
}

RequestHandler::Way SagemakerApp::Handle(HttpRequest request) const {
  HttpRequest head = WithoutBody(request);
  return parts_->OnThread(std::move(head), [parts = parts_.get(), request = std::move(request)] {
    return parts->SafeAnswer(request);
  });
}

RequestHandler::FreeBody SagemakerApp::FreeBodyOf(std::string_view target) const {
  const bool call = target == "/" || target.starts_with("/service/");
  return {call ? kCallBody : kUnknownBody, call};
}

std::shared_ptr<Exchange> SagemakerApp::Admit(const HttpRequest& request) const {
  return parts_->OnThread(WithoutBody(request),
                          [parts = parts_.get(), request] { return parts->Admit(request); });
}

HttpAnswer SagemakerApp::Refusal(int status, const std::string& why) const {
  const std::string code = status == 503 ? "SlowDown" : status == 413 ? "EntityTooLarge" : "InvalidRequest";
  HttpAnswer answer = S3Service::Error(AwsError(code, why), "/", NewRequestId());
  answer.status = status;
  return answer;
}

void SagemakerApp::AnnounceStop() { parts_->AnnounceStop(); }
void SagemakerApp::SetUrl(const std::string& url) { parts_->SetUrl(url); }

}  // namespace winnow
