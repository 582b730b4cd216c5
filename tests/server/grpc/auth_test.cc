#include "server/grpc/auth.h"

#include "server/grpc/roles.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

constexpr char kTuning[] = "winnow.v1.TuningService";

TokenRow RowOf(const TokenSecret& secret, const char* role) {
  TokenRow row;
  row.id = secret.id;
  row.role = role;
  row.hash = HashSecret(secret.secret);
  row.create_us = 1;
  return row;
}

CallOrigin From(const std::string& peer, const std::string& secret = "") {
  return {peer, secret.empty() ? "" : "Bearer " + secret};
}

TEST_CASE("TokenSecret: its form, and no two alike", "[server]") {
  const TokenSecret one = *MakeTokenSecret();
  const TokenSecret other = *MakeTokenSecret();
  CHECK(TokenIdOf(one.secret) == one.id);
  CHECK(one.secret != other.secret);
  for (const std::string& bad :
       {std::string(), one.id, one.secret + "A", one.secret.substr(1), "x" + one.secret.substr(1)}) {
    CHECK(TokenIdOf(bad) == "");
  }
  CHECK(SameHash(HashSecret(one.secret), HashSecret(one.secret)));
  CHECK_FALSE(SameHash(HashSecret(one.secret), HashSecret(other.secret)));
  CHECK_FALSE(SameHash(HashSecret(one.secret), ""));
}

TEST_CASE("Authority: without required tokens everyone may call whatever has a rule", "[server]") {
  Authority authority({.tokens_required = false});
  CHECK(authority.Admit(kTuning, "DeleteTuningJob", From("ipv4:127.0.0.1:5")).ok());
  CHECK(absl::IsPermissionDenied(authority.Admit(kTuning, "Unheard", From("ipv4:127.0.0.1:5")).status()));
}

TEST_CASE("Authority: a token is its secret, not its id", "[server]") {
  Authority authority({.tokens_required = true});
  const TokenSecret mine = *MakeTokenSecret();
  authority.Put(RowOf(mine, "viewer"));
  const auto list = [&](const std::string& secret) {
    return authority.Admit(kTuning, "ListTuningJobs", From("ipv4:10.0.0.1:5", secret));
  };
  CHECK(*list(mine.secret) == mine.id);
  CHECK(*authority.Admit(kTuning, "ListTuningJobs", {"ipv4:10.0.0.1:5", "BEARER " + mine.secret}) == mine.id);
  std::string other = mine.secret;
  other.back() = other.back() == 'A' ? 'B' : 'A';
  CHECK(absl::IsUnauthenticated(list(other).status()));
  CHECK(absl::IsUnauthenticated(list("").status()));
  CHECK(absl::IsPermissionDenied(
      authority.Admit(kTuning, "StopTuningJob", From("ipv4:10.0.0.1:5", mine.secret)).status()));
}

TEST_CASE("Authority: only a peer that is the socket is an admin by itself", "[server]") {
  Authority authority({.tokens_required = true});
  CHECK(authority.Admit("winnow.v1.AdminService", "CreateToken", From("unix:")).ok());
  for (const char* peer : {"ipv4:127.0.0.1:5", "ipv6:%5B::1%5D:5", "", "unknown"}) {
    CHECK(absl::IsUnauthenticated(
        authority.Admit("winnow.v1.AdminService", "CreateToken", From(peer)).status()));
  }
}

TEST_CASE("Authority: a role that is none may call nothing", "[server]") {
  Authority authority({.tokens_required = true});
  const TokenSecret odd = *MakeTokenSecret();
  authority.Put(RowOf(odd, "emperor"));
  for (const MethodRule& rule : MethodRules()) {
    CHECK(absl::IsPermissionDenied(
        authority.Admit(rule.service, rule.method, From("ipv4:10.0.0.1:5", odd.secret)).status()));
  }
}

TEST_CASE("RateLimit: a burst of two seconds, then as many as the rate", "[server]") {
  RateLimit limit(10);
  int taken = 0;
  while (limit.Take("a", 0)) ++taken;
  CHECK(taken == 20);
  CHECK_FALSE(limit.Take("a", 99'999));
  CHECK(limit.Take("a", 100'000));
  CHECK(limit.Take("b", 100'000));
  CHECK_FALSE(limit.Take("a", 50'000));  // a clock that goes back gives nothing
  CHECK(RateLimit(0).Take("a", 0));
}

TEST_CASE("RateLimit: callers that are long gone are forgotten", "[server]") {
  RateLimit limit(10);
  for (int i = 0; i < 100'000; ++i) limit.Take(std::to_string(i), i * 1'000'000LL);
  CHECK(limit.callers() < 3000);
}

}  // namespace
}  // namespace winnow
