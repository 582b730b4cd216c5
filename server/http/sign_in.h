#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/task_threads.h"
#include "server/engine/context.h"
#include "server/grpc/auth.h"
#include "server/http/calls.h"
#include "server/http/request_handler.h"
#include "server/http/target.h"
#include "server/oidc/pending.h"
#include "server/oidc/provider.h"
#include "server/oidc/sign_ins.h"

namespace winnow {

// The paths below /sign-in, by which persons sign in with an OpenID Connect provider: a browser by an
// authorization code, the command line by a device login. None needs a token. Thread-safe.
class SignInRoutes {
 public:
  // `sign_ins` outlives it.
  SignInRoutes(OidcSettings settings, SignIns& sign_ins, Clock clock);
  ~SignInRoutes();

  // `count` counts, here and below, what the result does during its lifetime.
  RequestHandler::Way Handle(const HttpRequest& request, const HttpTarget& target, CallCount* count);
  // Ends the caller's session, if they signed in, and then answers so. An error has no Set-Cookie: the
  // session goes on, and who has its cookie can try again.
  RequestHandler::Way Leave(const CallOrigin& caller, HttpAnswer answer, CallCount* count);

  // Browsers are sent back to this server's page at `own_url`, unless the settings name another URL. Reads
  // the provider's discovery document and says in the log whether it could. Before it nobody signs in.
  void Open(const std::string& own_url);
  // What waits for the provider ends soon.
  void Stop() { provider_.Stop(); }

 private:
  using Answer = std::function<void(HttpAnswer)>;
  // A browser that was sent to the provider.
  struct Visit {
    CodeBinding binding;
    std::string cookie_hash;
    std::string to;  // the path to return to
  };
  // A device login that is not confirmed yet.
  struct Device {
    std::string code;
    int64_t interval_us = 0;
    int64_t next_us = 0;  // when the provider may be asked again
    int64_t until_us = 0;
  };

  RequestHandler::Way Later(CallCount* count, std::function<void(Answer)> work);
  void Begin(const std::string& to, const Answer& answer);
  RequestHandler::Way Return(const HttpRequest& request, const HttpTarget& target, CallCount* count);
  void BeginDevice(const Answer& answer);
  RequestHandler::Way PollDevice(const HttpRequest& request, CallCount* count);
  void AskDevice(const std::string& key, const std::string& code, const SignInCall& call,
                 const Answer& answer);
  bool MayBegin(const HttpRequest& request);
  int64_t valid_us() const { return static_cast<int64_t>(provider_.settings().hours * 3.6e9); }
  bool secure() { return provider_.own_url().starts_with("https:"); }
  std::string BrowserCookie(const std::string& value, int64_t seconds);

  OidcProvider provider_;
  SignIns& sign_ins_;
  const Clock clock_;
  Mutex mutex_;
  RateLimit begins_ ABSL_GUARDED_BY(mutex_);
  Pending<Visit> visits_;
  Pending<Device> devices_;
  TaskThreads threads_;  // the provider is asked on these
};

}  // namespace winnow
