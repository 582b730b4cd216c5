#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/engine/answers/requester.h"
#include "server/engine/context.h"
#include "server/grpc/blob_access.h"
#include "store/tables/projects.h"
#include "store/tokens.h"
#include "winnow/v1/admin.pb.h"

namespace winnow {

// A token as its holder has it: "wnw_", the id, "_" and 32 random bytes as 43 characters of base64url.
struct TokenSecret {
  std::string id;      // 8 hexadecimal digits: not secret
  std::string secret;  // the whole text
};

// INTERNAL if the system gives no random bytes.
absl::StatusOr<TokenSecret> MakeTokenSecret();

// Returns the id in a secret's text; "" if the text is not a secret.
std::string_view TokenIdOf(std::string_view secret);

// SHA-256, 32 bytes. A secret has 256 random bits, so a slow hash would add nothing.
std::string HashSecret(std::string_view secret);

// Compares in constant time.
bool SameHash(std::string_view one, std::string_view other);

// A token bucket per caller: `per_second` calls on average, with bursts of two seconds' worth. Not
// thread-safe.
class RateLimit {
 public:
  // 0: no limit.
  explicit RateLimit(double per_second) : per_second_(per_second) {}

  // Returns whether one more call of `caller` is within the limit at `now_us`, a monotonic clock; counts it
  // if so.
  bool Take(std::string_view caller, int64_t now_us);

  double per_second() const { return per_second_; }
  size_t callers() const { return buckets_.size(); }

 private:
  struct Bucket {
    double calls = 0;  // calls available
    int64_t as_of_us = 0;
  };
  // Full buckets are the default, so they are removed.
  void ForgetFull(int64_t now_us);

  const double per_second_;
  std::map<std::string, Bucket, std::less<>> buckets_;
  size_t forget_at_ = 1024;
};

struct AuthOptions {
  bool tokens_required = false;      // false: everyone who reaches the server is an admin
  double calls_per_second = 20'000;  // per caller; 0: no limit
  std::string shown_file = {};       // which this server only shows, changing nothing; "": it serves
  Clock clock = Clock::System();
  // called for each call that the peer itself made and that was admitted
  std::function<void(std::string_view peer)> on_admit = {};
  // called for each call of an audited method that is refused because of the caller's role, or because they
  // may not see its job or project
  std::function<void(const Requester& by, std::string_view method, const absl::Status& why)> on_refuse = {};
};

// What a call says about its caller.
struct CallOrigin {
  std::string peer;           // gRPC's form: "ipv4:127.0.0.1:5000", "unix:"
  std::string authorization;  // the metadata of that name; "": none
};

// The host of a peer in gRPC's form: "192.0.2.7", "::1", "unix"; the peer as it is if it has another form.
std::string AddressOfPeer(std::string_view peer);

// Metadata with which the server's own HTTP side names its client on the in-process channel: the Authority's
// relay key, which nobody else knows, and the peer.
inline constexpr char kRelayKey[] = "winnow-relay-key";
inline constexpr char kRelayPeer[] = "winnow-relay-peer";
// Metadata with the caller's token.
inline constexpr char kAuthorization[] = "authorization";

// Decides who may call what, from memory: the tokens, and the call rate of each caller. A caller over the
// Unix socket is an admin: only the server's own user can open it. Thread-safe.
class Authority {
 public:
  explicit Authority(AuthOptions options);

  // Adds a token or its new state, with immediate effect.
  void Put(const TokenRow& row);

  // Decides whether the caller may call the method now, and counts the call. Returns the id of the token that
  // admits it, "" for none. UNAUTHENTICATED: no valid token; PERMISSION_DENIED: not with this role;
  // RESOURCE_EXHAUSTED: too many calls; FAILED_PRECONDITION: it may change something, and this server only
  // shows a file.
  absl::StatusOr<std::string> Admit(std::string_view service, std::string_view method,
                                    const CallOrigin& origin);

  // Returns the caller with the token of this id; for "" an admin without a name.
  struct Caller {
    v1::Role role = v1::ROLE_UNSPECIFIED;
    std::string name;
  };
  Caller CallerOf(const std::string& token_id);
  Requester RequesterOf(const std::string& token_id);

  // UNAUTHENTICATED if the token that admitted a call is no longer valid, with the reason. OK for "".
  absl::Status CheckStill(const std::string& token_id);

  // Replaces the projects and their members, with immediate effect.
  void PutProjects(bool any_project, const std::vector<MemberRow>& members);
  // The projects whose jobs `by` sees, unless it sees all jobs that there may be; see JobFilter.
  std::optional<std::vector<std::string>> VisibleTo(const Requester& by);
  // The ids of the tokens of that name.
  std::vector<std::string> TokensOf(const std::string& name);

  // Records that the call of an audited method was refused.
  void Refused(const Requester& by, std::string_view service, std::string_view method,
               const absl::Status& why) const;

  // Records that a call over the connection of `peer` was admitted.
  void Admitted(std::string_view peer) const {
    if (options_.on_admit) options_.on_admit(peer);
  }

  SentBlobs& sent_blobs() { return sent_blobs_; }

  bool read_only() const { return !options_.shown_file.empty(); }
  bool tokens_required() const { return options_.tokens_required; }
  // 32 random bytes in hexadecimal, new in each process.
  const std::string& relay_key() const { return relay_key_; }

 private:
  struct Identity {
    v1::Role role = v1::ROLE_UNSPECIFIED;
    std::string token_id;
    std::string caller;  // the caller's key in the rate limit
  };
  absl::StatusOr<Identity> Identify(const CallOrigin& origin);
  // OK, or why a known token is not valid.
  absl::Status CheckHolds(const TokenRow& row) const;

  const AuthOptions options_;
  const std::string relay_key_;
  SentBlobs sent_blobs_;
  Mutex mutex_;
  std::map<std::string, TokenRow, std::less<>> tokens_ ABSL_GUARDED_BY(mutex_);
  RateLimit limit_ ABSL_GUARDED_BY(mutex_);
  bool any_project_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<const Memberships>> members_ ABSL_GUARDED_BY(mutex_);  // by person
};

// Topic (see Hub) that is published when a token is revoked.
std::string TokenTopic(const std::string& token_id);

}  // namespace winnow
