#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "server/http/calls.h"
#include "server/http/exchange.h"
#include "server/http/message.h"
#include "server/http/target.h"

namespace winnow {

// Tells whether the server can record anything, on any thread, once.
using HealthProbe = std::function<void(std::function<void(absl::Status)> done)>;

struct HttpAppOptions {
  CallPath path;
  bool tokens_required = false;
  bool tls = false;        // cookies are for TLS alone
  HealthProbe probe = {};  // none: healthy while it answers
  std::chrono::milliseconds probe_patience{2'000};
  std::function<std::string()> metrics = {};  // Prometheus text; none: there is no /metrics
};

// What a request leads to: a page's file, a method of the services, or one of HTTP's own few paths. It
// decides; who may call what is decided by the services' own guard, which every call passes. Thread-safe.
class HttpApp {
 public:
  explicit HttpApp(HttpAppOptions options) : options_(std::move(options)) {}

  using Way = std::variant<HttpAnswer, std::shared_ptr<Exchange>>;
  // `request` need not outlive the call.
  Way Handle(const HttpRequest& request) const;

  // How large a body may be before it is known who sends it: those of /login never are larger, others after Admit.
  static constexpr size_t kLoginBody = 1 << 10;
  static constexpr size_t kUnknownBody = 16 << 10;
  static size_t FreeBody(std::string_view target);
  // 200 if the caller may call anything; else why not. The request's body is not looked at.
  std::shared_ptr<Exchange> Admit(const HttpRequest& request) const;

  // /healthz says 503 from now on.
  void AnnounceStop() { stopping_ = true; }

 private:
  Way Call(const HttpRequest& request, const HttpTarget& target) const;
  Way Login(const HttpRequest& request) const;
  Way Logout() const;
  Way Metrics(const HttpRequest& request) const;
  Way Health() const;
  std::string SetCookie(const std::string& token) const;

  const HttpAppOptions options_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace winnow
