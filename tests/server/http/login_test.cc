// Who may ask over HTTP: tokens, cookies, and pages of other sites.

#include <future>

#include "server/http/origin.h"
#include "server/oidc/sign_ins.h"
#include "tests/server/grpc/project_play.h"
#include "tests/server/http/http_play.h"

namespace winnow {
namespace {

// What a browser sends back of Set-Cookie.
std::string CookieOf(const HttpReply& reply) {
  const auto cookie = reply.headers.find("set-cookie");
  return cookie == reply.headers.end() ? "" : cookie->second.substr(0, cookie->second.find(';'));
}

std::string LoginJson(const std::string& token) { return nlohmann::json{{"token", token}}.dump(); }

TEST_CASE("Login: nobody is let in without a token, but to the page, its health and the login", "[http]") {
  TokenHttpPlay play;
  for (const char* closed : {"/v1/tuning-jobs", "/v1/caller", "/v1/openapi.json", "/v1/tuning-jobs/x/events",
                             "/v1/tuning-jobs?nonsense=1", "/metrics"}) {
    const HttpReply reply = play.Ask("GET", closed);
    INFO(closed << ": " << reply.body);
    CHECK(reply.status == 401);
    CHECK(reply.headers.at("www-authenticate") == "Bearer");
    CHECK(reply.json()["code"] == "UNAUTHENTICATED");
  }
  for (const char* open : {"/", "/login", "/jobs/x", "/healthz"}) CHECK(play.Ask("GET", open).status == 200);
}

TEST_CASE("Login: a token sets a strict cookie, which lets in until the logout", "[http]") {
  TokenHttpPlay play;
  const std::string token = play.MakeToken(v1::SUBMITTER).secret();
  const HttpReply in = play.Ask("POST", "/login", LoginJson(token));
  REQUIRE(in.status == 200);
  CHECK(in.json()["role"] == "SUBMITTER");
  CHECK(in.headers.at("set-cookie") == "winnow_token=" + token + "; HttpOnly; SameSite=Strict; Path=/");
  const HttpClient::Headers cookie = {{"Cookie", "theme=dark; " + CookieOf(in)}};
  const HttpReply caller = play.Ask("GET", "/v1/caller", "", cookie);
  CHECK(caller.json()["name"] == "of a test");
  CHECK(caller.json()["tokens_required"] == true);
  const HttpReply out = play.Ask("POST", "/logout", "", cookie);
  CHECK(out.status == 200);
  CHECK_THAT(out.headers.at("set-cookie"),
             Catch::StartsWith("winnow_token=;") && Catch::Contains("Max-Age=0"));
  CHECK(play.Ask("GET", "/v1/caller", "", {{"Cookie", CookieOf(out)}}).status == 401);
}

TEST_CASE("Login: a standby that can end no session says so, and lets the cookie stay", "[http]") {
  WithHttp<TokenPlay> play(
      HttpServerOptions{.tokens_required = true, .leads = false, .leader_signs_in = true});
  const std::string token = play.MakeToken(v1::VIEWER).secret();
  const HttpClient::Headers cookie = {{"Cookie", "winnow_token=" + token}};
  for (const HttpClient::Headers& caller : {cookie, Bearer(token)}) {
    const HttpReply out = play.Ask("POST", "/logout", "", caller);
    CHECK(out.status == 503);
    CHECK_THAT(out.body, Catch::Contains("log out at the server that leads"));
    CHECK_FALSE(out.headers.contains("set-cookie"));
  }
  CHECK(play.Ask("GET", "/v1/caller", "", cookie).status == 200);
  CHECK(play.Ask("POST", "/logout").status == 200);  // without a token there is nothing to end
}

TEST_CASE("Login: a logout beyond the rate limit is refused, and ends the session once it is within",
          "[http]") {
  TokenPlay play({}, 1.0);  // a burst of 2
  SignIns sign_ins(play.coordinator(), play.server->authority(), play.hub, play.time.clock());
  HttpServerOptions options;
  options.address = "127.0.0.1:0";
  options.tokens_required = true;
  options.relay_key = play.server->relay_key();
  OidcSettings settings;
  settings.issuer = "https://id.example";
  options.sign_in = std::make_shared<SignInRoutes>(settings, sign_ins, play.time.clock());
  auto http = HttpServer::Start(options, play.server->InProcessChannel());
  REQUIRE(http.ok());
  const auto ask = [&](const char* method, const char* path, const HttpClient::Headers& headers) {
    return AskOnce((*http)->port(), method, path, "", headers);
  };
  OidcPerson ana;
  ana.issuer = settings.issuer;
  ana.subject = "7";
  ana.name = "ana";
  ana.role = "viewer";
  std::promise<absl::StatusOr<MadeToken>> entered;
  sign_ins.Enter(ana, {"127.0.0.1", "page"}, 3'600'000'000,
                 [&](absl::StatusOr<MadeToken> made) { entered.set_value(std::move(made)); });
  const absl::StatusOr<MadeToken> made = entered.get_future().get();
  REQUIRE(made.ok());
  const HttpClient::Headers cookie = {{"Cookie", "winnow_token=" + made->secret}};
  for (int i = 0; i < 2; ++i) CHECK(ask("GET", "/v1/caller", cookie).status == 200);
  const HttpReply refused = ask("POST", "/logout", cookie);
  CHECK(refused.status == 429);
  CHECK_FALSE(refused.headers.contains("set-cookie"));
  play.Tick(1'000'000);
  const HttpReply out = ask("POST", "/logout", cookie);
  CHECK(out.status == 200);
  CHECK_THAT(out.headers.at("set-cookie"), Catch::Contains("Max-Age=0"));
  play.Tick(1'000'000);
  CHECK(ask("GET", "/v1/caller", cookie).status == 401);
}

TEST_CASE("Login: a token that does not hold sets no cookie", "[http]") {
  TokenHttpPlay play;
  const std::string unknown = "wnw_00000000_" + std::string(43, 'A');
  for (const std::string& body :
       {LoginJson(unknown), LoginJson(""), LoginJson("a; Path=/x"), LoginJson("\r\nX: y")}) {
    const HttpReply reply = play.Ask("POST", "/login", body);
    INFO(body << ": " << reply.body);
    CHECK(reply.status == 401);
    CHECK_FALSE(reply.headers.contains("set-cookie"));
  }
  for (const char* body : {"", "{", "[]", "{\"token\": 1}", "\"token\""}) {
    CHECK(play.Ask("POST", "/login", body).status == 400);
  }
}

TEST_CASE("Login: without a provider nobody signs in with one", "[http]") {
  TokenHttpPlay play;
  CHECK(play.Ask("GET", "/sign-in/provider").json()["provider"] == "");
  for (const char* path : {"/sign-in", "/sign-in/callback?state=a&code=b", "/sign-in/x"})
    CHECK(play.Ask("GET", path).status == 404);
  for (const char* path : {"/sign-in/device", "/sign-in/token"})
    CHECK(play.Ask("POST", path, "{}").status == 404);
  CHECK(play.Ask("POST", "/sign-in/device", std::string(2000, 'x')).status == 413);
}

TEST_CASE("Login: a revoked token is refused by its cookie too", "[http]") {
  TokenHttpPlay play;
  const v1::CreateTokenResponse made = play.MakeToken(v1::VIEWER);
  const HttpClient::Headers cookie = {{"Cookie", "winnow_token=" + made.secret()}};
  CHECK(play.Ask("GET", "/v1/caller", "", cookie).status == 200);
  v1::RevokeTokenRequest revoke;
  revoke.set_id(made.token().id());
  v1::Token revoked;
  REQUIRE(play.Admin(play.OverSocket(), &v1::AdminService::Stub::RevokeToken, revoke, revoked).ok());
  CHECK(play.Ask("GET", "/v1/caller", "", cookie).status == 401);
}

TEST_CASE("Login: a page of another site changes nothing with the browser's cookie", "[http]") {
  TokenHttpPlay play;
  const std::string cookie = "winnow_token=" + play.MakeToken(v1::SUBMITTER).secret();
  const auto status = [&](HttpClient::Headers headers) {
    headers["Cookie"] = cookie;
    headers["Host"] = "winnow.example:8080";
    return play.Ask("POST", "/v1/tuning-jobs/x/stop", "{}", headers).status;
  };
  constexpr int kReached = 404;  // the method says that there is no such job
  CHECK(status({{"Origin", "https://evil.example"}}) == 403);
  CHECK(status({{"Origin", "null"}}) == 403);
  CHECK(status({{"Origin", "http://winnow.example"}}) == 403);  // another port
  CHECK(status({{"Sec-Fetch-Site", "cross-site"}}) == 403);
  CHECK(status({{"Sec-Fetch-Site", "same-site"}}) == 403);
  CHECK(status({{"Origin", "http://winnow.example:8080"}}) == kReached);
  CHECK(status({{"Sec-Fetch-Site", "same-origin"}}) == kReached);
  CHECK(status({}) == kReached);  // no browser
}

TEST_CASE("Login: without tokens a page of another site reaches nothing, whatever its name leads to",
          "[http]") {
  HttpPlay play;
  CHECK(play.Ask("POST", "/v1/tuning-jobs/x/stop", "{}", {{"Origin", "https://evil.example"}}).status == 403);
  for (const char* host : {"evil.example", "evil.example:8080", "10.1.2.3", "localhost.evil.example",
                           "127.0.0.1.nip.io", ":80"}) {
    INFO(host);
    CHECK(play.Ask("GET", "/v1/tuning-jobs", "", {{"Host", host}}).status == 421);
  }
  for (const char* host :
       {"localhost", "localhost:8080", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080", "[::1]"}) {
    INFO(host);
    CHECK(play.Ask("GET", "/v1/tuning-jobs", "", {{"Host", host}}).status == 200);
  }
}

TEST_CASE("Login: what Authorization says counts before the cookie, and odd bytes count for nothing",
          "[http]") {
  HttpRequest request;
  request.headers["cookie"] = "winnow_token=abc";
  CHECK(AuthorizationOf(request) == "Bearer abc");
  request.headers["authorization"] = "Bearer xyz";
  CHECK(AuthorizationOf(request) == "Bearer xyz");
  request.headers["authorization"] = "Bearer \xff\x01";
  CHECK(AuthorizationOf(request) == "");
  request.headers.erase("authorization");
  request.headers["cookie"] = "winnow_token=abc; winnow_token=xyz";
  CHECK(AuthorizationOf(request) == "");
  request.headers["cookie"] = "winnow_token=a b";
  CHECK(AuthorizationOf(request) == "");
}

TEST_CASE("Login: the peer that a client claims over gRPC is not heard", "[http]") {
  TokenHttpPlay play;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  context.AddMetadata(kRelayKey, play.server->relay_key());  // even if it knew the key
  context.AddMetadata(kRelayPeer, "unix:");
  v1::ListTuningJobsResponse response;
  const grpc::Status status =
      v1::TuningService::NewStub(*Connect(play.OverTcp("")))->ListTuningJobs(&context, {}, &response);
  CHECK(status.error_code() == grpc::StatusCode::UNAUTHENTICATED);
}

TEST_CASE("Login: metrics are for those who may read", "[http]") {
  TokenHttpPlay play;
  CHECK(play.Ask("GET", "/metrics", "", Bearer(play.MakeToken(v1::WORKER).secret())).status == 403);
  const HttpReply metrics = play.Ask("GET", "/metrics", "", Bearer(play.MakeToken(v1::VIEWER).secret()));
  CHECK(metrics.body == "up 1\n");
  CHECK_THAT(metrics.headers.at("content-type"), Catch::StartsWith("text/plain; version=0.0.4"));
  HttpPlay without;
  CHECK(without.Ask("GET", "/metrics").status == 404);
}

TEST_CASE("Login: over HTTP too, what is in a project is its members'", "[http]") {
  WithHttp<ProjectPlay> play(HttpServerOptions{.tokens_required = true, .metrics = [](const auto& shows) {
                                                 std::string text;
                                                 for (const char* job : {"job", "job@vision", "job@speech"})
                                                   text += shows(job) ? std::string(job) + "\n" : "";
                                                 return text;
                                               }});
  const HttpClient::Headers ana = Bearer(play.Token(v1::SUBMITTER, "ana")),
                            cem = Bearer(play.Token(v1::VIEWER, "cem")),
                            admin = Bearer(play.Token(v1::ADMIN, "adam"));
  CHECK(play.Ask("GET", "/metrics", "", ana).body == "job\njob@vision\n");
  CHECK(play.Ask("GET", "/metrics", "", cem).body == "job\njob@speech\n");
  CHECK(play.Ask("GET", "/metrics", "", admin).body == "job\njob@vision\njob@speech\n");
  const std::string id = play.Submit(play.Token(v1::SUBMITTER, "ana"), "vision");
  for (const char* path : {"/v1/tuning-jobs/job@vision", "/v1/tuning-jobs/job%40vision"}) {
    CHECK(play.Ask("GET", path, "", ana).status == 200);
    CHECK(play.Ask("GET", path, "", cem).status == 404);
  }
  CHECK_THAT(play.Ask("GET", "/v1/tuning-jobs?project=vision", "", ana).body, Catch::Contains(id));
  CHECK(play.Ask("GET", "/v1/tuning-jobs?project=vision", "", cem).status == 404);
  CHECK_THAT(play.Ask("GET", "/v1/tuning-jobs", "", cem).body, !Catch::Contains(id));
}

TEST_CASE("Login: calls over HTTP are counted as those over gRPC", "[http]") {
  WithHttp<TokenPlay> play(HttpServerOptions{.tokens_required = true}, TlsFiles{}, 1.0);
  const HttpClient::Headers bearer = Bearer(play.MakeToken(v1::VIEWER).secret());
  CHECK(play.Ask("GET", "/v1/tuning-jobs", "", bearer).status == 200);  // the clock stands: two in all
  CHECK(play.Ask("GET", "/v1/tuning-jobs", "", bearer).status == 200);
  CHECK(play.Ask("GET", "/v1/tuning-jobs", "", bearer).status == 429);
}

TEST_CASE("Login: a body of more than 1 KiB is refused without being read", "[http]") {
  TokenHttpPlay play;
  HttpClient told(play.port());
  told.Send(
      "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "4190000\r\n\r\n[");
  CHECK(told.Read().status == 413);
  CHECK(told.IsClosed());
  HttpClient chunked(play.port());
  chunked.Send(
      "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
      "chunked\r\n\r\n800\r\n" +
      std::string(2048, '['));
  CHECK(chunked.Read().status == 413);
}

TEST_CASE("Login: a large body is not read before it is known who sends it", "[http]") {
  TokenHttpPlay play;
  const std::string head =
      "POST /v1/tuning-jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "1000000\r\n";
  HttpClient unknown(play.port());
  unknown.Send(head + "\r\n{");
  CHECK(unknown.Read().status == 401);
  CHECK(unknown.IsClosed());
  HttpClient known(play.port());
  known.Send(head + "Authorization: Bearer " + play.MakeToken(v1::SUBMITTER).secret() + "\r\n\r\n" +
             std::string(1'000'000, ' '));
  CHECK(known.Read().status == 400);  // read, and found to say nothing
}

}  // namespace
}  // namespace winnow
