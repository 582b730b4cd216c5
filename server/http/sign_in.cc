#include "server/http/sign_in.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/status_text.h"
#include "json/message_json.h"
#include "server/grpc/errors.h"
#include "server/http/errors.h"
#include "server/http/later_answer.h"
#include "server/http/origin.h"

namespace winnow {
namespace {

using grpc::StatusCode;
using nlohmann::ordered_json;

constexpr char kBrowserCookie[] = "winnow_sign_in";
constexpr int64_t kVisitSeconds = 600;
constexpr size_t kMostVisits = 10'000;
constexpr size_t kMostDevices = 2'000;
constexpr int64_t kMostDeviceUs = 3'600'000'000;
constexpr int64_t kSlowDownUs = 5'000'000;  // RFC 8628, 3.5
// Sign-ins that each host may begin, on average; see RateLimit.
constexpr double kBeginsPerSecond = 20;
constexpr int kThreads = 4;
constexpr size_t kMostWaiting = 64;
constexpr size_t kLongestPath = 2048;
constexpr size_t kLongestError = 300;

// Words of the login page's address, which says more of them.
constexpr char kExpired[] = "expired";
constexpr char kDeclined[] = "declined";
constexpr char kProvider[] = "provider";
constexpr char kNotAllowed[] = "not-allowed";
constexpr char kNameTaken[] = "name-taken";
constexpr char kBusy[] = "busy";

const char* WordOf(const absl::Status& status) {
  if (absl::IsPermissionDenied(status)) return kNotAllowed;
  if (absl::IsAlreadyExists(status)) return kNameTaken;
  return absl::IsResourceExhausted(status) ? kBusy : kProvider;
}

std::string ParameterOf(const HttpTarget& target, std::string_view name) {
  const auto found = std::find_if(target.parameters.begin(), target.parameters.end(),
                                  [&](const auto& each) { return each.first == name; });
  return found == target.parameters.end() ? "" : found->second;
}

// A path of this server's page to return to; anything else becomes "/". A browser reads a second '/' or a
// backslash as the beginning of another host.
std::string OwnPath(const std::string& to) {
  const bool plain =
      std::all_of(to.begin(), to.end(), [](char c) { return c > ' ' && c <= '~' && c != '\\'; });
  const bool own = to.size() <= kLongestPath && to.starts_with('/') && !to.starts_with("//") && plain;
  return own && !to.starts_with("/login") && !to.starts_with("/sign-in") ? to : "/";
}

HttpAnswer Redirection(const std::string& url) {
  HttpAnswer answer;
  answer.status = 303;
  answer.headers = {{"Location", url}, {"Cache-Control", "no-store"}};
  return answer;
}

// Leads the browser to the login page, which says in words what went wrong.
HttpAnswer RefusedSignIn(const std::string& why, const std::string& to) {
  return Redirection("/login?" + EncodeForm({{"refused", why}, {"to", to}}));
}

// A provider's error and its description (RFC 6749, 4.1.2.1), for the log.
std::string ForLog(const std::string& error, const std::string& description) {
  std::string text = description.empty() ? error : error + ": " + description;
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.substr(0, kLongestError);
}

HttpAnswer TooMany() {
  return ErrorAnswer(
      {StatusCode::RESOURCE_EXHAUSTED, "this host begins too many sign-ins; try again in a moment"});
}

HttpAnswer StillPending(int64_t interval_us) {
  const ordered_json json = {{"state", "PENDING"}, {"interval", (interval_us + 999'999) / 1'000'000}};
  return JsonAnswer(202, json.dump());
}

// Host and port of a URL.
std::string PlaceOf(const std::string& url) {
  const size_t host = url.find("://") + 3;
  return url.substr(host, url.find('/', host) - host);
}

}  // namespace

SignInRoutes::SignInRoutes(OidcSettings settings, SignIns& sign_ins, Clock clock)
    : provider_(std::move(settings), [] { return Clock::System().wall_us() / 1'000'000; }),
      sign_ins_(sign_ins),
      clock_(std::move(clock)),
      begins_(kBeginsPerSecond),
      visits_(kMostVisits, kVisitSeconds * 1'000'000),
      devices_(kMostDevices, kMostDeviceUs),
      threads_(kThreads) {}

SignInRoutes::~SignInRoutes() { Stop(); }

void SignInRoutes::Open(const std::string& own_url) {
  provider_.SetOwnUrl(own_url);
  threads_.Post([this] {
    const absl::Status reached = provider_.Reach();
    if (reached.ok()) {
      spdlog::info("people sign in with {}; it must know the redirect URI {}", provider_.settings().issuer,
                   provider_.redirect_url());
    } else {
      spdlog::warn("nobody can sign in with {} now: {}; it is asked again at each sign-in",
                   provider_.settings().issuer, MessageOf(reached));
    }
  });
}

RequestHandler::Way SignInRoutes::Later(CallCount* count, std::function<void(Answer)> work) {
  return std::make_shared<LaterAnswer>(
      [this, pass = std::make_shared<CallCount::Pass>(*count), work = std::move(work)](const Answer& answer) {
        if (threads_.PostWithin(kMostWaiting, [work, answer] { work(answer); })) return;
        answer(ErrorAnswer({StatusCode::UNAVAILABLE, "too many people sign in at this moment; try again"}));
      });
}

bool SignInRoutes::MayBegin(const HttpRequest& request) {
  MutexLock lock(mutex_);
  return begins_.Take(AddressOfPeer(request.peer), clock_.steady_us());
}

RequestHandler::Way SignInRoutes::Handle(const HttpRequest& request, const HttpTarget& target,
                                         CallCount* count) {
  const std::string path = target.segments.size() == 1   ? ""
                           : target.segments.size() == 2 ? target.segments[1]
                                                         : "-";
  const bool gets = request.method == "GET";
  if (path == "provider") {
    if (!gets) return NotAllowed(request.method, "GET");
    return JsonAnswer(200, ordered_json{{"provider", PlaceOf(provider_.settings().issuer)}}.dump());
  }
  if (path.empty()) {
    if (!gets) return NotAllowed(request.method, "GET");
    const std::string to = OwnPath(ParameterOf(target, "to"));
    if (!MayBegin(request)) return RefusedSignIn(kBusy, to);
    return Later(count, [this, to](const Answer& answer) { Begin(to, answer); });
  }
  if (path == "callback")
    return gets ? Return(request, target, count) : RequestHandler::Way(NotAllowed(request.method, "GET"));
  if (path != "device" && path != "token")
    return ErrorAnswer({StatusCode::NOT_FOUND, "there is no such path; see docs/sign-in.md"});
  if (request.method != "POST") return NotAllowed(request.method, "POST");
  if (path == "token") return PollDevice(request, count);
  if (!MayBegin(request)) return TooMany();
  return Later(count, [this](const Answer& answer) { BeginDevice(answer); });
}

std::string SignInRoutes::BrowserCookie(const std::string& value, int64_t seconds) {
  // Lax: the provider's page leads back to this server.
  return fmt::format("{}={}; HttpOnly; SameSite=Lax; Path=/sign-in; Max-Age={}{}", kBrowserCookie, value,
                     seconds, secure() ? "; Secure" : "");
}

void SignInRoutes::Begin(const std::string& to, const Answer& answer) {
  absl::StatusOr<std::string> state = RandomText(), cookie = RandomText(), verifier = RandomText(),
                              nonce = RandomText();
  if (!state.ok() || !cookie.ok() || !verifier.ok() || !nonce.ok()) return answer(RefusedSignIn(kBusy, to));
  const CodeBinding binding{*verifier, *nonce};
  const absl::StatusOr<std::string> url = provider_.AuthorizationUrl(*state, binding);
  if (!url.ok()) {
    spdlog::warn("nobody can sign in: {}", MessageOf(url.status()));
    return answer(RefusedSignIn(WordOf(url.status()), to));
  }
  visits_.Put(*state, {binding, HashSecret(*cookie), to}, clock_.steady_us());
  HttpAnswer redirection = Redirection(*url);
  redirection.headers.emplace_back("Set-Cookie", BrowserCookie(*cookie, kVisitSeconds));
  answer(std::move(redirection));
}

RequestHandler::Way SignInRoutes::Return(const HttpRequest& request, const HttpTarget& target,
                                         CallCount* count) {
  const std::optional<Visit> visit = visits_.Take(ParameterOf(target, "state"), clock_.steady_us());
  const std::string cookie(CookieOf(request, kBrowserCookie));
  if (!visit || cookie.empty() || !SameHash(HashSecret(cookie), visit->cookie_hash))
    return RefusedSignIn(kExpired, "/");
  const SignInCall call{AddressOfPeer(request.peer), "page"};
  if (const std::string error = ParameterOf(target, "error"); !error.empty()) {
    const bool declined = error == "access_denied";
    sign_ins_.Failed(call, absl::PermissionDeniedError(
                               declined ? "it was declined at the provider"
                                        : "the provider answered with the error " +
                                              ForLog(error, ParameterOf(target, "error_description"))));
    return RefusedSignIn(declined ? kDeclined : kProvider, visit->to);
  }
  return Later(count, [this, visit = *visit, call, code = ParameterOf(target, "code"),
                       issuer = ParameterOf(target, "iss")](const Answer& answer) {
    const absl::StatusOr<OidcPerson> person = provider_.Redeem(code, issuer, visit.binding);
    if (!person.ok()) {
      sign_ins_.Failed(call, person.status());
      return answer(RefusedSignIn(WordOf(person.status()), visit.to));
    }
    sign_ins_.Enter(*person, call, valid_us(), [this, to = visit.to, answer](absl::StatusOr<MadeToken> made) {
      if (!made.ok()) return answer(RefusedSignIn(WordOf(made.status()), to));
      HttpAnswer redirection = Redirection(to);
      redirection.headers.emplace_back("Set-Cookie", TokenCookie(made->secret, secure()));
      redirection.headers.emplace_back("Set-Cookie", BrowserCookie("", 0));
      answer(std::move(redirection));
    });
  });
}

void SignInRoutes::BeginDevice(const Answer& answer) {
  const absl::StatusOr<DeviceGrant> grant = provider_.BeginDevice();
  const absl::StatusOr<std::string> key = RandomText();
  if (!grant.ok() || !key.ok()) {
    const absl::Status why = grant.ok() ? key.status() : grant.status();
    spdlog::warn("no device login can begin: {}", MessageOf(why));
    return answer(ErrorAnswer(ToGrpc(why)));
  }
  const int64_t now_us = clock_.steady_us();
  const int64_t interval_us = grant->interval_s * 1'000'000;
  devices_.Put(*key,
               {grant->device_code, interval_us, now_us + interval_us, now_us + grant->expires_s * 1'000'000},
               now_us);
  const ordered_json json = {{"device", *key},
                             {"provider", PlaceOf(provider_.settings().issuer)},
                             {"user_code", grant->user_code},
                             {"verification_uri", grant->url},
                             {"verification_uri_complete", grant->complete_url},
                             {"expires_in", grant->expires_s},
                             {"interval", grant->interval_s}};
  answer(JsonAnswer(200, json.dump()));
}

RequestHandler::Way SignInRoutes::PollDevice(const HttpRequest& request, CallCount* count) {
  const auto json = nlohmann::json::parse(request.body, nullptr, false);
  if (!json.is_object() || !json.contains("device") || !json["device"].is_string())
    return ErrorAnswer(
        FieldError("body", "expected {\"device\": \"…\"}, which POST /sign-in/device answered"));
  const std::string key = json["device"];
  const int64_t now_us = clock_.steady_us();
  Device device;
  const bool there = devices_.Update(key, now_us, [&](Device& kept) {
    device = kept;
    if (now_us >= kept.next_us) kept.next_us = now_us + kept.interval_us;
  });
  if (!there || now_us >= device.until_us) {
    devices_.Take(key, now_us);
    return ErrorAnswer({StatusCode::DEADLINE_EXCEEDED, "this sign-in has expired or is over; begin again"});
  }
  if (now_us < device.next_us) return StillPending(device.interval_us);
  const SignInCall call{AddressOfPeer(request.peer), "device"};
  return Later(count, [this, key, code = device.code, call](const Answer& answer) {
    AskDevice(key, code, call, answer);
  });
}

void SignInRoutes::AskDevice(const std::string& key, const std::string& code, const SignInCall& call,
                             const Answer& answer) {
  const absl::StatusOr<DeviceAnswer> said = provider_.PollDevice(code);
  const int64_t now_us = clock_.steady_us();
  if (absl::IsUnavailable(said.status()))
    return answer(ErrorAnswer(ToGrpc(said.status())));  // it may come back
  if (said.ok() && !said->person) {
    int64_t interval_us = 0;
    devices_.Update(key, now_us, [&](Device& kept) {
      if (said->slow_down) {
        kept.interval_us += kSlowDownUs;
        kept.next_us = now_us + kept.interval_us;
      }
      interval_us = kept.interval_us;
    });
    return answer(StillPending(interval_us));
  }
  // The first of two requests at once gets the token.
  const bool first = devices_.Take(key, now_us).has_value();
  if (!said.ok() || !first) {
    const absl::Status why = said.ok() ? absl::DeadlineExceededError("this sign-in is over") : said.status();
    if (first) sign_ins_.Failed(call, why);
    return answer(ErrorAnswer(ToGrpc(why)));
  }
  sign_ins_.Enter(*said->person, call, valid_us(), [answer](absl::StatusOr<MadeToken> made) {
    if (!made.ok()) return answer(ErrorAnswer(ToGrpc(made.status())));
    v1::CreateTokenResponse response;  // as of POST /v1/tokens
    *response.mutable_token() = ToMessage(made->row);
    response.set_secret(made->secret);
    answer(JsonAnswer(200, MessageJson(response, JsonLayout::kOneLine)));
  });
}

RequestHandler::Way SignInRoutes::Leave(const CallOrigin& caller, HttpAnswer answer, CallCount* count) {
  // Who leaves does not wait for the provider, as the threads of those who sign in do.
  return std::make_shared<LaterAnswer>([this, pass = std::make_shared<CallCount::Pass>(*count), caller,
                                        answer = std::move(answer)](const Answer& tell) {
    sign_ins_.Leave(caller, [tell, answer](const absl::Status& status) {
      tell(status.ok() ? answer : ErrorAnswer(ToGrpc(status)));
    });
  });
}

}  // namespace winnow
