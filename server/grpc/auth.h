#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/engine/context.h"
#include "server/engine/requester.h"
#include "server/grpc/rate_limit.h"
#include "store/tokens.h"
#include "winnow/v1/admin.pb.h"

namespace winnow {

struct AuthOptions {
  bool tokens_required = false;      // false: everyone who reaches the server is an admin
  double calls_per_second = 20'000;  // of each caller; 0: no limit
  Clock clock = Clock::System();
  std::function<void(std::string_view peer)> on_admit = {};  // told of each call that a peer itself made and may make
};

// What a call says of its caller.
struct CallOrigin {
  std::string peer;           // as gRPC writes it: "ipv4:127.0.0.1:5000", "unix:"
  std::string authorization;  // the metadata of that name; "": none
};

// Metadata by which the server's own HTTP side tells whom it speaks for, on the channel within the process: the
// Authority's relay key, which nobody else knows, and the peer.
inline constexpr char kRelayKey[] = "winnow-relay-key";
inline constexpr char kRelayPeer[] = "winnow-relay-peer";

// Says who may call what, from what is in memory: the tokens, and how often each caller called. A caller over
// the Unix socket is an admin: only the server's own user can open it. Thread-safe.
class Authority {
 public:
  explicit Authority(AuthOptions options);

  // Takes a token in, or its new state; it holds from now on.
  void Put(const TokenRow& row);

  // Whether the caller may call the method now; counts the call. The id of the token it is let in by, "" for
  // none. UNAUTHENTICATED: no token, or none that holds; PERMISSION_DENIED: not with this role;
  // RESOURCE_EXHAUSTED: too many calls.
  absl::StatusOr<std::string> Admit(std::string_view service, std::string_view method,
                                    const CallOrigin& origin);

  // Who is let in by the token of this id; for "" an admin without a name.
  struct Caller {
    v1::Role role = v1::ROLE_UNSPECIFIED;
    std::string name;
  };
  Caller CallerOf(const std::string& token_id);
  Requester RequesterOf(const std::string& token_id);

  // Whether a token that a call was let in by still holds: UNAUTHENTICATED says why not. OK for "".
  absl::Status CheckStill(const std::string& token_id);

  // A call over the connection of `peer` was admitted.
  void Admitted(std::string_view peer) const {
    if (options_.on_admit) options_.on_admit(peer);
  }

  bool tokens_required() const { return options_.tokens_required; }
  // 32 random bytes in hexadecimal, new in each process.
  const std::string& relay_key() const { return relay_key_; }

 private:
  struct Identity {
    v1::Role role = v1::ROLE_UNSPECIFIED;
    std::string token_id;
    std::string caller;  // for the limit
  };
  absl::StatusOr<Identity> Identify(const CallOrigin& origin);
  // OK, or why a token that is known does not hold.
  absl::Status CheckHolds(const TokenRow& row) const;

  const AuthOptions options_;
  const std::string relay_key_;
  std::mutex mutex_;
  std::map<std::string, TokenRow, std::less<>> tokens_;  // guarded by mutex_
  RateLimit limit_;                                      // guarded by mutex_
};

// Topic (see Hub) that is published when a token was revoked.
std::string TokenTopic(const std::string& token_id);

}  // namespace winnow
