// Whose a name is, and which sessions have it.

#include "server/oidc/sign_ins.h"

#include <future>

#include "tests/server/grpc/token_play.h"
#include "tests/store/get.h"

namespace winnow {
namespace {

using grpc::StatusCode;

struct SignInPlay : TokenPlay {
  SignIns sign_ins{coordinator(), server->authority(), hub, time.clock()};

  // Signs somebody in; the secret of their session.
  std::string Enter(const std::string& subject, const std::string& name, bool granted) {
    OidcPerson person;
    person.issuer = "https://id.example";
    person.subject = subject;
    person.name = name;
    person.granted = granted;
    person.role = "viewer";
    std::promise<absl::StatusOr<MadeToken>> entered;
    sign_ins.Enter(person, {"127.0.0.1", "page"}, 3'600'000'000,
                   [&](absl::StatusOr<MadeToken> made) { entered.set_value(std::move(made)); });
    return Get(entered.get_future().get()).secret;
  }
  StatusCode Asks(const std::string& secret) const { return List(OverTcp(secret)).error_code(); }
};

TEST_CASE("Sign-ins: a name that is granted ends the sessions of who had it, and no others", "[oidc]") {
  SignInPlay play;
  const std::string other = play.Enter("8", "Ana", false), ben = play.Enter("9", "ben", false),
                    robot = play.MakeToken(v1::VIEWER, 0, "ana").secret();
  const std::string ana = play.Enter("7", "ana", true);
  CHECK(play.Asks(other) == StatusCode::UNAUTHENTICATED);
  for (const std::string& stays : {ben, robot, ana}) CHECK(play.Asks(stays) == StatusCode::OK);
  const std::string again = play.Enter("7", "ana", true);
  for (const std::string& hers : {ana, again}) CHECK(play.Asks(hers) == StatusCode::OK);
  play.StartServer();
  CHECK(play.Asks(other) == StatusCode::UNAUTHENTICATED);
}

TEST_CASE("Sign-ins: a name that somebody has given up comes without their sessions", "[oidc]") {
  SignInPlay play;
  const std::string before = play.Enter("8", "ana", false), after = play.Enter("8", "ben", true);
  CHECK(play.Asks(before) == StatusCode::OK);
  const std::string ana = play.Enter("7", "ana", false);
  CHECK(play.Asks(before) == StatusCode::UNAUTHENTICATED);
  for (const std::string& stays : {after, ana}) CHECK(play.Asks(stays) == StatusCode::OK);
}

}  // namespace
}  // namespace winnow
