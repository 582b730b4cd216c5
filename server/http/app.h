#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/http/calls.h"
#include "server/http/message.h"
#include "server/http/request_handler.h"
#include "server/http/sign_in.h"
#include "server/http/target.h"

namespace winnow {

// Reports once, on any thread, whether the server can record anything.
using HealthProbe = std::function<void(std::function<void(absl::Status)> done)>;

struct HttpAppOptions {
  CallPath path;
  bool tokens_required = false;
  bool tls = false;        // cookies require TLS
  HealthProbe probe = {};  // none: healthy while it answers
  bool leads = true;       // false: a standby, which is not ready for changes
  std::chrono::milliseconds probe_patience{2'000};
  // Prometheus text, with metrics of those jobs only that `shows` says; none: no /metrics
  std::function<std::string(const std::function<bool(const std::string&)>& shows)> metrics = {};
  std::shared_ptr<SignInRoutes> sign_in = nullptr;  // null: nobody signs in with a provider
  bool leader_signs_in = false;                     // people sign in with a provider at the server that leads
};

// Routes a request to a page's file, a method of the services, or one of the few paths of HTTP's own.
// Authorization is left to the services' own guard, which every call passes. Thread-safe.
class HttpApp final : public RequestHandler {
 public:
  explicit HttpApp(HttpAppOptions options) : options_(std::move(options)) {}

  Way Handle(HttpRequest request) const override;

  // The largest body accepted before the sender is known: enough for /login; others come after Admit.
  static constexpr size_t kLoginBody = 1 << 10;
  static constexpr size_t kUnknownBody = 16 << 10;
  FreeBody FreeBodyOf(std::string_view target) const override;
  // 200 if the caller may call anything.
  std::shared_ptr<Exchange> Admit(const HttpRequest& request) const override;
  HttpAnswer Refusal(int status, const std::string& why) const override;

  // /healthz answers 503 from now on.
  void AnnounceStop() override;

 private:
  Way Call(const HttpRequest& request, const HttpTarget& target) const;
  Way Login(const HttpRequest& request) const;
  Way Logout(const HttpRequest& request) const;
  Way SignIn(const HttpRequest& request, const HttpTarget& target) const;
  Way Metrics(const HttpRequest& request) const;
  Way Health() const;

  const HttpAppOptions options_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace winnow
