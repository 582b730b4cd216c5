#include "server/grpc/auth.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "server/grpc/roles.h"

namespace winnow {
namespace {

constexpr std::string_view kStart = "wnw_";
constexpr size_t kIdBytes = 4;
constexpr size_t kIdLength = 2 * kIdBytes;
constexpr size_t kRandomBytes = 32;
constexpr size_t kRandomLength = 43;  // 32 bytes in base64url without padding

constexpr double kBurstSeconds = 2;
constexpr size_t kFewCallers = 1024;

constexpr std::string_view kBearer = "bearer ";  // in any case of its letters
constexpr std::string_view kUnixPeer = "unix:";

// Without the port, so that a caller keeps its identity over several connections.
std::string HostOf(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

std::string TimeText(int64_t us) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixMicros(us), absl::UTCTimeZone());
}

absl::Status NoToken() {
  return absl::UnauthenticatedError(
      "this server requires a token: pass its file with --token-file or WINNOW_TOKEN_FILE (an admin creates "
      "one "
      "with: winnow token create)");
}

std::string MakeRelayKey() {
  unsigned char bytes[32];
  WINNOW_CHECK(RAND_bytes(bytes, sizeof bytes) == 1,
               "relay keys must not be guessable: OpenSSL has random bytes");
  std::string key;
  for (unsigned char byte : bytes) key += fmt::format("{:02x}", byte);
  return key;
}

}  // namespace

absl::StatusOr<TokenSecret> MakeTokenSecret() {
  std::array<unsigned char, kIdBytes + kRandomBytes> random;
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
    return absl::InternalError("the system provides no random bytes, so no token can be created");
  }
  TokenSecret token;
  for (size_t i = 0; i < kIdBytes; ++i) token.id += fmt::format("{:02x}", random[i]);
  const std::string bytes(reinterpret_cast<const char*>(random.data()) + kIdBytes, kRandomBytes);
  token.secret = fmt::format("{}{}_{}", kStart, token.id, absl::WebSafeBase64Escape(bytes));
  return token;
}

std::string_view TokenIdOf(std::string_view secret) {
  if (secret.size() != kStart.size() + kIdLength + 1 + kRandomLength) return {};
  if (!secret.starts_with(kStart) || secret[kStart.size() + kIdLength] != '_') return {};
  return secret.substr(kStart.size(), kIdLength);
}

std::string HashSecret(std::string_view secret) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

bool SameHash(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

bool RateLimit::Take(std::string_view caller, int64_t now_us) {
  if (per_second_ <= 0) return true;
  const double full = std::max(1.0, per_second_ * kBurstSeconds);
  auto found = buckets_.find(caller);
  if (found == buckets_.end()) {
    if (buckets_.size() >= forget_at_) ForgetFull(now_us);
    found = buckets_.emplace(std::string(caller), Bucket{full, now_us}).first;
  }
  Bucket& bucket = found->second;
  const double gained = static_cast<double>(now_us - bucket.as_of_us) / 1e6 * per_second_;
  bucket.calls = std::min(full, bucket.calls + std::max(0.0, gained));
  bucket.as_of_us = std::max(bucket.as_of_us, now_us);
  if (bucket.calls < 1) return false;
  bucket.calls -= 1;
  return true;
}

void RateLimit::ForgetFull(int64_t now_us) {
  const double full = std::max(1.0, per_second_ * kBurstSeconds);
  std::erase_if(buckets_, [&](const auto& entry) {
    const auto& bucket = entry.second;
    return bucket.calls + static_cast<double>(now_us - bucket.as_of_us) / 1e6 * per_second_ >= full;
  });
  forget_at_ = std::max(kFewCallers, 2 * buckets_.size());
}

Authority::Authority(AuthOptions options)
    : options_(std::move(options)), relay_key_(MakeRelayKey()), limit_(options_.calls_per_second) {}

void Authority::Put(const TokenRow& row) {
  MutexLock lock(mutex_);
  tokens_[row.id] = row;
}

absl::Status Authority::CheckHolds(const TokenRow& row) const {
  if (row.revoke_us != 0) {
    return absl::UnauthenticatedError(
        fmt::format("the token {} was revoked on {}", row.id, TimeText(row.revoke_us)));
  }
  if (row.expire_us != 0 && row.expire_us <= options_.clock.wall_us()) {
    return absl::UnauthenticatedError(
        fmt::format("the token {} has expired on {}", row.id, TimeText(row.expire_us)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Authority::Identity> Authority::Identify(const CallOrigin& origin) {
  const std::string host = HostOf(origin.peer);
  if (!options_.tokens_required || origin.peer.starts_with(kUnixPeer)) return Identity{v1::ADMIN, "", host};
  std::string_view secret = origin.authorization;
  if (absl::AsciiStrToLower(std::string(secret.substr(0, kBearer.size()))) != kBearer) return NoToken();
  secret.remove_prefix(kBearer.size());
  const std::string hash = HashSecret(secret);
  MutexLock lock(mutex_);
  const auto known = tokens_.find(TokenIdOf(secret));
  if (known == tokens_.end() || !SameHash(known->second.hash, hash)) {
    return absl::UnauthenticatedError("this token is unknown to the server");
  }
  if (absl::Status holds = CheckHolds(known->second); !holds.ok()) return holds;
  return Identity{RoleOf(known->second.role), known->first, "token " + known->first};
}

absl::StatusOr<std::string> Authority::Admit(std::string_view service, std::string_view method,
                                             const CallOrigin& origin) {
  const absl::StatusOr<Identity> identity = Identify(origin);
  const std::string caller = identity.ok() ? identity->caller : HostOf(origin.peer);
  {
    MutexLock lock(mutex_);
    if (!limit_.Take(caller, options_.clock.steady_us())) {
      return absl::ResourceExhaustedError(
          fmt::format("{} makes more than {} calls per second, the limit of winnow-server --rate-limit",
                      caller, limit_.per_second()));
    }
  }
  if (!identity.ok()) return identity.status();
  if (MayCall(identity->role, service, method)) {
    if (!read_only() || !MayChangeSomething(*RuleOf(service, method))) return identity->token_id;
    return absl::FailedPreconditionError(
        fmt::format("this server only shows {}; it changes nothing", options_.shown_file));
  }
  const absl::Status why = absl::PermissionDeniedError(WhyNot(identity->role, service, method));
  Requester by = RequesterOf(identity->token_id);
  by.address = AddressOfPeer(origin.peer);
  Refused(by, service, method, why);
  return why;
}

Authority::Caller Authority::CallerOf(const std::string& token_id) {
  if (token_id.empty()) return {v1::ADMIN, ""};
  MutexLock lock(mutex_);
  const auto known = tokens_.find(token_id);
  return known == tokens_.end() ? Caller{} : Caller{RoleOf(known->second.role), known->second.name};
}

Requester Authority::RequesterOf(const std::string& token_id) {
  if (token_id.empty()) return {};
  Requester by;
  by.token_id = token_id;
  by.any = false;
  MutexLock lock(mutex_);
  const auto known = tokens_.find(token_id);
  if (known == tokens_.end()) {
    by.name = "token " + token_id;
    return by;
  }
  const TokenRow& row = known->second;
  by.name = row.name.empty() ? "token " + token_id : row.name;
  by.any = RoleOf(row.role) == v1::ADMIN;
  by.worker = RoleOf(row.role) == v1::WORKER;
  by.worker_projects = row.worker_projects;
  by.worker_names = row.worker_names;
  if (const auto member = members_.find(by.name); member != members_.end()) by.memberships = member->second;
  return by;
}

void Authority::PutProjects(bool any_project, const std::vector<MemberRow>& members) {
  std::map<std::string, Memberships> by_person;
  for (const MemberRow& row : members) by_person[row.person][row.project] = row.leads;
  MutexLock lock(mutex_);
  any_project_ = any_project;
  members_.clear();
  for (auto& [person, memberships] : by_person)
    members_[person] = std::make_shared<const Memberships>(std::move(memberships));
}

std::optional<std::vector<std::string>> Authority::VisibleTo(const Requester& by) {
  {
    MutexLock lock(mutex_);
    if (!any_project_ && !by.worker) return std::nullopt;
  }
  return by.Visible();
}

std::vector<std::string> Authority::TokensOf(const std::string& name) {
  std::vector<std::string> ids;
  MutexLock lock(mutex_);
  for (const auto& [id, row] : tokens_) {
    if (row.name == name) ids.push_back(id);
  }
  return ids;
}

void Authority::Refused(const Requester& by, std::string_view service, std::string_view method,
                        const absl::Status& why) const {
  if (options_.on_refuse && IsAudited(service, method)) options_.on_refuse(by, method, why);
}

absl::Status Authority::CheckStill(const std::string& token_id) {
  if (token_id.empty()) return absl::OkStatus();
  MutexLock lock(mutex_);
  const auto known = tokens_.find(token_id);
  return known == tokens_.end() ? NoToken() : CheckHolds(known->second);
}

std::string AddressOfPeer(std::string_view peer) {
  if (peer.starts_with(kUnixPeer)) return "unix";
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:")) return std::string(peer);
  std::string_view host = peer.substr(5, peer.rfind(':') - 5);
  // gRPC escapes the brackets of an IPv6 address.
  for (const std::string_view open : {"%5B", "["}) {
    if (host.starts_with(open)) host.remove_prefix(open.size());
  }
  for (const std::string_view close : {"%5D", "]"}) {
    if (host.ends_with(close)) host.remove_suffix(close.size());
  }
  return std::string(host);
}

std::string TokenTopic(const std::string& token_id) { return "token/" + token_id; }

}  // namespace winnow
