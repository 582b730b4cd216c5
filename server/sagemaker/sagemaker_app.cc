#include "server/sagemaker/sagemaker_app.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/status_text.h"
#include "base/task_threads.h"
#include "server/sagemaker/jobs/follower.h"
#include "server/sagemaker/jobs/job_service.h"
#include "server/sagemaker/jobs/job_table.h"
#include "server/sagemaker/jobs/winnow_calls.h"
#include "server/sagemaker/s3/object_store.h"
#include "server/sagemaker/s3/s3_service.h"
#include "server/sagemaker/s3/xml.h"
#include "server/sagemaker/wire/access_keys.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"
#include "server/sagemaker/wire/digests.h"
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
constexpr size_t kJsonBody = 2 << 20;
constexpr size_t kUnknownBody = 16 << 10;
constexpr char kJsonType[] = "application/x-amz-json-1.1";
constexpr char kFollowerPeer[] = "ipv4:127.0.0.1:0";

// 8-4-4-4-12 hexadecimal digits.
std::string NewRequestId() {
  std::string id = RandomHex(16);
  for (const size_t at : {8, 13, 18, 23}) id.insert(at, "-");
  return id;
}

HttpAnswer JsonError(const absl::Status& status, const std::string& request_id) {
  const std::string code = AwsCodeOf(status);
  // The member that each kind of error has in the services' models.
  const bool modelled =
      code == "ResourceNotFound" || code == "ResourceInUse" || code == "ResourceLimitExceeded";
  HttpAnswer answer;
  answer.status = HttpStatusOfAwsCode(code);
  answer.headers = {
      {"Content-Type", kJsonType}, {"x-amzn-RequestId", request_id}, {"x-amzn-ErrorType", code}};
  answer.body = json({{"__type", code}, {modelled ? "Message" : "message", MessageOf(status)}})
                    .dump(-1, ' ', false, json::error_handler_t::replace);
  return answer;
}

// Runs a function on one of the threads, and has its answer.
class ThreadExchange final : public Exchange, public std::enable_shared_from_this<ThreadExchange> {
 public:
  ThreadExchange(TaskThreads& threads, std::function<HttpAnswer()> work, std::function<HttpAnswer()> busy)
      : threads_(threads), work_(std::move(work)), busy_(std::move(busy)) {}

  void Start(std::function<void()> changed) override {
    const bool posted = threads_.PostWithin(kMostWaiting, [self = shared_from_this(), changed] {
      self->Tell(self->work_());
      changed();
    });
    if (posted) return;
    Tell(busy_());
    changed();
  }

  Step Next() override {
    MutexLock lock(mutex_);
    if (!answer_) return {};
    return {Step::Kind::kAnswer, *std::move(answer_), {}};
  }

  void Cancel() override {}

 private:
  void Tell(HttpAnswer answer) {
    MutexLock lock(mutex_);
    answer_ = std::move(answer);
  }

  TaskThreads& threads_;
  const std::function<HttpAnswer()> work_, busy_;
  Mutex mutex_;
  std::optional<HttpAnswer> answer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

class SagemakerApp::Parts {
 public:
  Parts(SagemakerOptions options, AccessKeys keys, std::unique_ptr<SagemakerJobs> table,
        std::unique_ptr<ObjectStore> objects, const std::shared_ptr<grpc::Channel>& channel)
      : url_(std::move(options.url)),
        keys_(std::move(keys)),
        table_(std::move(table)),
        objects_(std::move(objects)),
        calls_(channel, std::move(options.relay_key)),
        follower_(*table_, *objects_, calls_,
                  [this](const SagemakerJob& row) { return CallerOfKey(row.key_id, kFollowerPeer); }),
        s3_(*objects_),
        jobs_(*table_, *objects_, calls_, follower_, [this] { return url(); }),
        threads_(kAnswerThreads) {}

  // A request that nobody thought of must not end the server.
  HttpAnswer SafeAnswer(const HttpRequest& request) {
    try {
      return Answer(request);
    } catch (const std::exception& exception) {
      spdlog::error("SageMaker: a request to {} failed: {}", request.target, exception.what());
      const absl::Status why = AwsError("InternalFailure", "The request failed within the server.");
      return ServiceOf(request) == "s3" ? S3Service::Error(why, request.target, NewRequestId())
                                        : JsonError(why, NewRequestId());
    }
  }

  HttpAnswer Answer(const HttpRequest& request) {
    const std::string request_id = NewRequestId();
    const std::string service = ServiceOf(request);
    const bool is_s3 = service == "s3" || (service.empty() && request.header("x-amz-target").empty());
    std::string account;
    const absl::StatusOr<Signer> signer = Check(request, SignedPart::kAll, account);
    if (!signer.ok())
      return is_s3 ? S3Service::Error(signer.status(), request.target, request_id)
                   : JsonError(signer.status(), request_id);
    if (is_s3) return s3_.Answer(request, account, request_id);
    if (service == "sts" || service == "iam") return AnswerQuery(request, *signer, account, request_id);
    return AnswerJson(request, *signer, account, request_id);
  }

  HttpAnswer Admit(const HttpRequest& request) {
    std::string account;
    const absl::StatusOr<Signer> signer = Check(request, SignedPart::kHead, account);
    if (signer.ok()) return HttpAnswer();
    const std::string request_id = NewRequestId();
    return ServiceOf(request) == "s3" ? S3Service::Error(signer.status(), request.target, request_id)
                                      : JsonError(signer.status(), request_id);
  }

  std::shared_ptr<Exchange> OnThread(std::function<HttpAnswer()> work, bool s3) {
    return std::make_shared<ThreadExchange>(threads_, std::move(work), [s3] {
      const absl::Status busy =
          AwsError(s3 ? "SlowDown" : "ServiceUnavailable", "Too many requests at a time; try again.");
      return s3 ? S3Service::Error(busy, "/", NewRequestId()) : JsonError(busy, NewRequestId());
    });
  }

  std::string url() {
    MutexLock lock(mutex_);
    return url_;
  }
  void SetUrl(const std::string& url) {
    MutexLock lock(mutex_);
    if (url_.empty()) url_ = url;
  }
  void Stop() { follower_.Stop(); }

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

  CallerOf CallerOfKey(const std::string& key_id, const std::string& peer) const {
    const AccessKey* key = keys_.Find(key_id);
    return {peer, key == nullptr ? "" : key->token};
  }

  // The services whose answers are XML.
  HttpAnswer AnswerQuery(const HttpRequest& request, const Signer& signer, const std::string& account,
                         const std::string& request_id) const {
    const std::string action = ParseAwsTarget("?" + request.body).value("Action");
    HttpAnswer answer;
    answer.headers = {{"Content-Type", "text/xml"}, {"x-amzn-RequestId", request_id}};
    if (signer.service != "sts" || action != "GetCallerIdentity") {
      XmlWriter error("ErrorResponse");
      error.Open("Error");
      error.Add("Type", "Sender");
      error.Add("Code", "AccessDenied");
      error.Add("Message",
                "The operation " + action + " of " + signer.service + " is not offered by Winnow.");
      error.Close();
      error.Add("RequestId", request_id);
      answer.status = 403;
      answer.body = error.Finish();
      return answer;
    }
    const AccessKey* key = keys_.Find(signer.key_id);
    const std::string name = key == nullptr ? "job" : key->name.empty() ? key->id : key->name;
    XmlWriter xml("GetCallerIdentityResponse", "https://sts.amazonaws.com/doc/2011-06-15/");
    xml.Open("GetCallerIdentityResult");
    xml.Add("Arn", "arn:aws:iam::" + account + ":user/" + name);
    xml.Add("UserId", signer.key_id);
    xml.Add("Account", account);
    xml.Close();
    xml.Open("ResponseMetadata");
    xml.Add("RequestId", request_id);
    xml.Close();
    answer.body = xml.Finish();
    return answer;
  }

  HttpAnswer AnswerJson(const HttpRequest& request, const Signer& signer, const std::string& account,
                        const std::string& request_id) {
    const std::string target(request.header("x-amz-target"));
    if (signer.service != "sagemaker" || !target.starts_with("SageMaker.")) {
      return JsonError(AwsError("UnknownOperationException",
                                "The service " + signer.service + " is not offered by Winnow."),
                       request_id);
    }
    // Processes of jobs have their account's objects, and nothing else.
    if (keys_.Find(signer.key_id) == nullptr)
      return JsonError(AwsError("AccessDeniedException", "The key of a job may use S3 only."), request_id);
    const json body = request.body.empty() ? json::object() : json::parse(request.body, nullptr, false);
    if (body.is_discarded() || !body.is_object())
      return JsonError(AwsError("SerializationException", "The body is not a JSON object."), request_id);
    const JobCaller caller{account, signer.region, signer.key_id, CallerOfKey(signer.key_id, request.peer)};
    const absl::StatusOr<json> answer =
        jobs_.Call(target.substr(std::string("SageMaker.").size()), body, caller);
    if (!answer.ok()) return JsonError(answer.status(), request_id);
    HttpAnswer written;
    written.headers = {{"Content-Type", kJsonType}, {"x-amzn-RequestId", request_id}};
    if (!answer->is_null()) written.body = answer->dump(-1, ' ', false, json::error_handler_t::replace);
    return written;
  }

  Mutex mutex_;
  std::string url_ ABSL_GUARDED_BY(mutex_);
  const AccessKeys keys_;
  const std::unique_ptr<SagemakerJobs> table_;
  const std::unique_ptr<ObjectStore> objects_;
  WinnowCalls calls_;
  Follower follower_;
  S3Service s3_;
  JobService jobs_;
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
  absl::StatusOr<std::unique_ptr<SagemakerJobs>> table = SagemakerJobs::Open(options.folder / "jobs.db");
  if (!table.ok()) return table.status();
  absl::StatusOr<std::unique_ptr<ObjectStore>> objects = ObjectStore::Open(options.folder / "objects");
  if (!objects.ok()) return objects.status();
  return std::unique_ptr<SagemakerApp>(new SagemakerApp(std::make_unique<Parts>(
      std::move(options), *std::move(keys), *std::move(table), *std::move(objects), channel)));
}

HttpListenOptions SagemakerApp::ListenOptions() {
  HttpListenOptions options;
  options.flag = "--sagemaker";
  options.limits.body_bytes = kMostBody;
  options.threads = kConnectionThreads;
  return options;
}

RequestHandler::Way SagemakerApp::Handle(const HttpRequest& request) const {
  const bool s3 = ServiceOf(request) == "s3";
  return parts_->OnThread([parts = parts_.get(), request] { return parts->SafeAnswer(request); }, s3);
}

RequestHandler::FreeBody SagemakerApp::FreeBodyOf(std::string_view target) const {
  return {target == "/" ? kJsonBody : kUnknownBody, target == "/"};
}

std::shared_ptr<Exchange> SagemakerApp::Admit(const HttpRequest& request) const {
  return parts_->OnThread([parts = parts_.get(), request] { return parts->Admit(request); },
                          ServiceOf(request) == "s3");
}

HttpAnswer SagemakerApp::Refusal(int status, const std::string& why) const {
  const std::string code = status == 503 ? "SlowDown" : status == 413 ? "EntityTooLarge" : "InvalidRequest";
  HttpAnswer answer = S3Service::Error(AwsError(code, why), "/", NewRequestId());
  answer.status = status;
  return answer;
}

void SagemakerApp::AnnounceStop() { parts_->Stop(); }
void SagemakerApp::SetUrl(const std::string& url) { parts_->SetUrl(url); }

}  // namespace winnow
