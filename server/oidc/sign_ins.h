#pragma once

#include <string>

#include "base/mutex.h"
#include "server/engine/coordinator.h"
#include "server/engine/hub.h"
#include "server/grpc/auth.h"
#include "server/grpc/tokens.h"
#include "server/oidc/person.h"

namespace winnow {

// From where a person signs in.
struct SignInCall {
  std::string address;  // of the host
  std::string way;      // "page" or "device"
};

// The use cases of signing in: who a provider says somebody is becomes a person of this server, with a token
// of limited life. The audit log has an entry of each. Thread-safe.
class SignIns {
 public:
  // All outlive it, and what it is asked.
  SignIns(Coordinator& coordinator, Authority& authority, Hub& hub, Clock clock);

  // Makes a token for the person, valid for that long, and sets their membership of the projects that the
  // settings name. A person keeps the name of their first sign-in, unless the settings grant another one.
  // The sessions that others have under a name end when it becomes somebody's.
  // PERMISSION_DENIED: they are refused; ALREADY_EXISTS: their name belongs to another person or to a token
  // that no sign-in made.
  void Enter(const OidcPerson& person, const SignInCall& call, int64_t valid_us,
             Coordinator::Done<MadeToken> done);
  // Records that the provider did not say who it is. Of these of each host, and of the refusals of each
  // person, the audit log has one in a minute, so that nobody fills it.
  void Failed(const SignInCall& call, const absl::Status& why);
  // Revokes the token that a sign-in made for this caller; does nothing to any other. RESOURCE_EXHAUSTED: the
  // caller makes too many calls.
  void Leave(const CallOrigin& origin, std::function<void(const absl::Status&)> done);

 private:
  // Whether an entry about them is due.
  bool Records(const std::string& who);

  Coordinator& coordinator_;
  Authority& authority_;
  Hub& hub_;
  const Clock clock_;
  Mutex mutex_;
  RateLimit recorded_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
