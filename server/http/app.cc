#include "server/http/app.h"

#include <fmt/format.h>
#include <grpcpp/alarm.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/mutex.h"
#include "base/status_text.h"
#include "server/engine/answers/requester.h"
#include "server/http/call_message.h"
#include "server/http/errors.h"
#include "server/http/openapi.h"
#include "server/http/origin.h"
#include "server/http/page_files.h"
#include "server/http/routes.h"
#include "winnow/v1/admin.pb.h"

namespace winnow {
namespace {

class HealthCheck final : public Exchange, public std::enable_shared_from_this<HealthCheck> {
 public:
  HealthCheck(HealthProbe probe, std::chrono::milliseconds patience, CallCount* count)
      : pass_(*count), probe_(std::move(probe)), patience_(patience) {}

  void Start(std::function<void()> changed) override {
    changed_ = std::move(changed);
    // A weak pointer, because an answer may come late or, from a stalled server, never.
    const std::weak_ptr<HealthCheck> weak = weak_from_this();
    alarm_.Set(std::chrono::system_clock::now() + patience_, [weak](bool expired) {
      const auto self = weak.lock();
      if (expired && self) self->Tell("no answer in time from the writer or the reader");
    });
    probe_([weak](const absl::Status& status) {
      if (const auto self = weak.lock()) self->Tell(status.ok() ? "" : MessageOf(status));
    });
  }

  Step Next() override {
    MutexLock lock(mutex_);
    if (!problem_) return {};
    const nlohmann::ordered_json ok = {{"status", "ok"}};
    const nlohmann::ordered_json bad = {{"status", "unavailable"}, {"message", *problem_}};
    return {Step::Kind::kAnswer,
            JsonAnswer(problem_->empty() ? 200 : 503, (problem_->empty() ? ok : bad).dump()),
            {}};
  }

  void Cancel() override {}

 private:
  void Tell(std::string problem) {
    {
      MutexLock lock(mutex_);
      if (problem_) return;
      problem_ = std::move(problem);
    }
    changed_();
  }

  const CallCount::Pass pass_;  // destroyed last
  const HealthProbe probe_;
  const std::chrono::milliseconds patience_;
  std::function<void()> changed_;
  Mutex mutex_;
  std::optional<std::string> problem_ ABSL_GUARDED_BY(mutex_);  // "": none
  grpc::Alarm alarm_;
};

// 200 if the probe reports OK within `patience`, otherwise 503 with its message. `count` counts it during its
// lifetime.
std::shared_ptr<Exchange> MakeHealthCheck(HealthProbe probe, std::chrono::milliseconds patience,
                                          CallCount* count) {
  return std::make_shared<HealthCheck>(std::move(probe), patience, count);
}

namespace pb = google::protobuf;
using grpc::StatusCode;

bool IsRead(std::string_view method) { return method == "GET" || method == "HEAD"; }

HttpAnswer NoSuchPath() {
  return ErrorAnswer({StatusCode::NOT_FOUND, "no method has this path; see GET /v1/openapi.json"});
}

bool SaysJson(std::string_view type) {
  std::string kind = absl::AsciiStrToLower(std::string(type.substr(0, type.find(';'))));
  absl::StripAsciiWhitespace(&kind);
  return kind == "application/json";
}

const pb::MethodDescriptor& GetCaller() {
  return *v1::Caller::descriptor()->file()->FindServiceByName("AdminService")->FindMethodByName("GetCaller");
}

// Returns the answer of a method as JSON, or its error.
FinishCall AnswerOf(const pb::Descriptor& type) {
  return [&type](const grpc::Status& status, grpc::ByteBuffer bytes) {
    if (!status.ok()) return ErrorAnswer(status);
    std::string json;
    const grpc::Status written = ToJson(type, std::move(bytes), json);
    return written.ok() ? JsonAnswer(200, std::move(json)) : ErrorAnswer(written);
  };
}

// Sets where a stream resumes after a disconnection: the browser's header takes precedence over the path.
void Resume(const HttpRequest& request, HttpTarget& target, const pb::Descriptor& type) {
  const std::string_view last = request.header("last-event-id");
  const pb::FieldDescriptor* after = type.FindFieldByName("after_sequence");
  if (last.empty() || after == nullptr) return;
  std::erase_if(target.parameters, [&](const auto& parameter) {
    return parameter.first == after->name() || parameter.first == after->json_name();
  });
  target.parameters.emplace_back(after->name(), last);
}

}  // namespace

HttpApp::Way HttpApp::Handle(HttpRequest request) const {
  // Without tokens everyone who reaches the port may do everything. So the client must be a program of this
  // machine or one of our pages, not a page of another site whose name resolves to this address.
  const std::string_view host = request.header("host");
  if (!options_.tokens_required && !host.empty() && !HostIsLoopback(host)) {
    return ErrorAnswer(421, {StatusCode::PERMISSION_DENIED,
                             "this server requires no tokens and so answers only as localhost or 127.0.0.1"});
  }
  if (!IsRead(request.method) && FromAnotherSite(request)) {
    return ErrorAnswer({StatusCode::PERMISSION_DENIED, "a page of another site may not call this"});
  }
  std::optional<HttpTarget> target = ParseTarget(request.target);
  if (!target) {
    return ErrorAnswer(
        {StatusCode::INVALID_ARGUMENT,
         fmt::format("the request's path or query is malformed, or has more than {} parameters",
                     kMostParameters)});
  }
  const std::string first = target->segments.empty() ? "" : target->segments[0];
  if (first == "v1") return Call(request, *target);
  const bool single = target->segments.size() == 1;
  if (single && request.method == "POST" && first == "login") return Login(request);
  if (single && first == "logout") {
    return request.method == "POST" ? Logout(request) : Way(NotAllowed(request.method, "POST"));
  }
  if (first == "sign-in") return SignIn(request, *target);
  if (!IsRead(request.method))
    return NotAllowed(request.method, first == "login" ? "GET, HEAD, POST" : "GET, HEAD");
  if (single && first == "readyz" && !options_.leads) return JsonAnswer(503, "{\"status\":\"standby\"}");
  if (single && (first == "healthz" || first == "readyz")) return Health();
  if (single && first == "metrics") return Metrics(request);
  std::string path;
  for (const std::string& segment : target->segments) path += (path.empty() ? "" : "/") + segment;
  return AnswerPage(PageFiles(), path, request);
}

RequestHandler::FreeBody HttpApp::FreeBodyOf(std::string_view target) const {
  const std::optional<HttpTarget> parsed = ParseTarget(target);
  const bool login = parsed && !parsed->segments.empty() &&
                     (parsed->segments[0] == "login" || parsed->segments[0] == "sign-in");
  return {login ? kLoginBody : kUnknownBody, login};
}

HttpAnswer HttpApp::Refusal(int status, const std::string& why) const {
  return ErrorAnswer(
      status, {status == 503 ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::INVALID_ARGUMENT, why});
}

std::shared_ptr<Exchange> HttpApp::Admit(const HttpRequest& request) const {
  return MakeUnaryCall(options_.path, {request.peer, AuthorizationOf(request)}, GetCaller(),
                       v1::GetCallerRequest(), [](const grpc::Status& status, grpc::ByteBuffer) {
                         return status.ok() ? JsonAnswer(200, "{}") : ErrorAnswer(status);
                       });
}

HttpApp::Way HttpApp::Call(const HttpRequest& request, const HttpTarget& target) const {
  const CallFor caller{request.peer, AuthorizationOf(request)};
  const bool reads = IsRead(request.method);
  if (target.segments.size() == 2 && target.segments[1] == "openapi.json") {
    if (!reads) return NotAllowed(request.method, "GET, HEAD");
    // For every caller with any permission.
    return MakeUnaryCall(options_.path, caller, GetCaller(), v1::GetCallerRequest(),
                         [](const grpc::Status& status, grpc::ByteBuffer) {
                           if (!status.ok()) return ErrorAnswer(status);
                           HttpAnswer answer = JsonAnswer(200, "");
                           answer.fixed = OpenApiJson();
                           return answer;
                         });
  }
  const RouteMatch match = HttpRoutes::OfServer().Find(reads ? "GET" : request.method, target.segments);
  if (match.verbs.empty()) return NoSuchPath();
  if (match.route == nullptr || (match.route->method->server_streaming() && request.method == "HEAD")) {
    std::string allowed;
    for (std::string_view verb : match.verbs) allowed += (allowed.empty() ? "" : ", ") + std::string(verb);
    return NotAllowed(request.method, allowed);
  }
  if (!request.body.empty() && !SaysJson(request.header("content-type"))) {
    return ErrorAnswer(415, {StatusCode::INVALID_ARGUMENT, "Content-Type: expected application/json"});
  }
  const pb::MethodDescriptor& method = *match.route->method;
  HttpTarget asked = target;
  if (method.server_streaming()) Resume(request, asked, *method.input_type());
  MessagePtr message;
  const grpc::Status read = ReadCall(match, asked.parameters, request.body, message);
  if (!read.ok()) {
    // A caller without any permission does not learn what is wrong with the request.
    return MakeUnaryCall(options_.path, caller, GetCaller(), v1::GetCallerRequest(),
                         [read](const grpc::Status& status, grpc::ByteBuffer) {
                           return ErrorAnswer(status.ok() ? read : status);
                         });
  }
  if (method.server_streaming()) return MakeStreamCall(options_.path, caller, method, *message);
  return MakeUnaryCall(options_.path, caller, method, *message, AnswerOf(*method.output_type()));
}

HttpApp::Way HttpApp::Login(const HttpRequest& request) const {
  const auto json = nlohmann::json::parse(request.body, nullptr, false);
  if (!SaysJson(request.header("content-type")) || !json.is_object() || !json.contains("token") ||
      !json["token"].is_string()) {
    return ErrorAnswer(FieldError("body", "expected {\"token\": \"…\"} with Content-Type: application/json"));
  }
  const std::string token = json["token"];
  if (!token.empty() && !LooksLikeToken(token)) {
    return ErrorAnswer({StatusCode::UNAUTHENTICATED, "this token is unknown to the server"});
  }
  const CallFor caller{request.peer, token.empty() ? "" : "Bearer " + token};
  return MakeUnaryCall(
      options_.path, caller, GetCaller(), v1::GetCallerRequest(),
      [cookie = token.empty() ? "" : TokenCookie(token, options_.tls),
       answer_of = AnswerOf(*v1::Caller::descriptor())](const grpc::Status& status, grpc::ByteBuffer bytes) {
        HttpAnswer answer = answer_of(status, std::move(bytes));
        if (status.ok() && !cookie.empty()) answer.headers.emplace_back("Set-Cookie", cookie);
        return answer;
      });
}

HttpApp::Way HttpApp::Logout(const HttpRequest& request) const {
  const std::string authorization = AuthorizationOf(request);
  if (options_.leader_signs_in && !authorization.empty()) {
    return ErrorAnswer({StatusCode::UNAVAILABLE,
                        "this server is a standby, which ends no session; log out at the server that leads"});
  }
  HttpAnswer answer = JsonAnswer(200, "{}");
  answer.headers.emplace_back("Set-Cookie", TokenCookie("", options_.tls) + "; Max-Age=0");
  if (options_.sign_in == nullptr) return answer;
  return options_.sign_in->Leave({request.peer, authorization}, std::move(answer), options_.path.count);
}

HttpApp::Way HttpApp::SignIn(const HttpRequest& request, const HttpTarget& target) const {
  if (options_.sign_in != nullptr) return options_.sign_in->Handle(request, target, options_.path.count);
  // The page asks whether there is a provider.
  const bool asks = target.segments.size() == 2 && target.segments[1] == "provider" && IsRead(request.method);
  return asks ? JsonAnswer(200, R"({"provider":""})")
              : ErrorAnswer({StatusCode::NOT_FOUND, "this server has no sign-in with OpenID Connect"});
}

void HttpApp::AnnounceStop() {
  stopping_ = true;
  if (options_.sign_in != nullptr) options_.sign_in->Stop();
}

HttpApp::Way HttpApp::Metrics(const HttpRequest& request) const {
  if (!options_.metrics) return ErrorAnswer({StatusCode::NOT_FOUND, "this server has no metrics"});
  return MakeUnaryCall(
      options_.path, {request.peer, AuthorizationOf(request)}, GetCaller(), v1::GetCallerRequest(),
      [metrics = options_.metrics](const grpc::Status& status, grpc::ByteBuffer bytes) {
        if (!status.ok()) return ErrorAnswer(status);
        v1::Caller caller;
        if (!FromBytes(std::move(bytes), caller) || caller.role() == v1::WORKER) {
          return ErrorAnswer({StatusCode::PERMISSION_DENIED, "a token of role worker may not read metrics"});
        }
        HttpAnswer answer;
        answer.headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"},
                          {"Cache-Control", "no-store"}};
        const std::set<std::string, std::less<>> projects(caller.projects().begin(), caller.projects().end());
        const bool all = caller.role() == v1::ADMIN;
        answer.body = metrics([&projects, all](const std::string& job) {
          const std::string_view project = ProjectOfJob(job);
          return all || project.empty() || projects.contains(project);
        });
        return answer;
      });
}

HttpApp::Way HttpApp::Health() const {
  if (stopping_) return JsonAnswer(503, "{\"status\":\"stopping\"}");
  if (!options_.probe) return JsonAnswer(200, "{\"status\":\"ok\"}");
  return MakeHealthCheck(options_.probe, options_.probe_patience, options_.path.count);
}

}  // namespace winnow
