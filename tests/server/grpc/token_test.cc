// Tokens over real gRPC: made, listed, revoked, expired, refused.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/grpc/tokens.h"
#include "tests/server/grpc/token_play.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {
namespace {

using grpc::StatusCode;

v1::Token Revoke(TokenPlay& play, const std::string& id) {
  v1::RevokeTokenRequest request;
  request.set_id(id);
  v1::Token token;
  const grpc::Status status =
      play.Admin(play.OverSocket(), &v1::AdminService::Stub::RevokeToken, request, token);
  INFO(status.error_message());
  REQUIRE(status.ok());
  return token;
}

TEST_CASE("Tokens: the secret is in the answer alone, in no file of the server", "[server]") {
  TokenPlay play;
  const v1::CreateTokenResponse made = play.MakeToken(v1::VIEWER);
  CHECK(made.secret().starts_with("wnw_" + made.token().id() + "_"));
  CHECK(made.secret().size() == 4 + 8 + 1 + 43);
  v1::ListTokensResponse list;
  REQUIRE(
      play.Admin(play.OverSocket(), &v1::AdminService::Stub::ListTokens, v1::ListTokensRequest(), list).ok());
  REQUIRE(list.tokens_size() == 1);
  CHECK(list.tokens(0).role() == v1::VIEWER);
  CHECK(list.tokens(0).name() == "of a test");
  CHECK_FALSE(list.tokens(0).has_expire_time());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(play.folder.path())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    INFO(entry.path());
    CHECK(bytes.find(made.secret().substr(13)) == std::string::npos);
  }
}

TEST_CASE("Tokens: one that is revoked is refused from the answer on, after a restart too", "[server]") {
  TokenPlay play;
  const v1::CreateTokenResponse made = play.MakeToken(v1::VIEWER);
  CHECK(play.List(play.OverTcp(made.secret())).ok());
  CHECK(Revoke(play, made.token().id()).has_revoke_time());
  const grpc::Status refused = play.List(play.OverTcp(made.secret()));
  CHECK(refused.error_code() == StatusCode::UNAUTHENTICATED);
  CHECK_THAT(refused.error_message(), Catch::Contains("was revoked on"));
  play.StartServer();
  CHECK(play.List(play.OverTcp(made.secret())).error_code() == StatusCode::UNAUTHENTICATED);
}

TEST_CASE("Tokens: a stream ends when its token is revoked", "[server]") {
  TokenPlay play;
  const std::string job = play.Create(RandomJob(4));
  FakeWorker worker(play, "w", 1);
  REQUIRE(worker.Step().ok());
  const v1::CreateTokenResponse made = play.MakeToken(v1::VIEWER);
  const auto stub = v1::TuningService::NewStub(*Connect(play.OverTcp(made.secret())));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1::WatchTuningJobRequest request;
  request.set_id(job);
  const auto stream = stub->WatchTuningJob(&context, request);
  v1::TuningJobEvent event;
  REQUIRE(stream->Read(&event));
  Revoke(play, made.token().id());
  while (stream->Read(&event)) {
  }
  CHECK(stream->Finish().error_code() == StatusCode::UNAUTHENTICATED);
}

TEST_CASE("Tokens: one that has expired is refused, and says since when", "[server]") {
  TokenPlay play;
  const std::string secret = play.MakeToken(v1::VIEWER, 60).secret();
  play.Tick(59'000'000);
  CHECK(play.List(play.OverTcp(secret)).ok());
  play.Tick(1'000'000);
  const grpc::Status refused = play.List(play.OverTcp(secret));
  CHECK(refused.error_code() == StatusCode::UNAUTHENTICATED);
  CHECK_THAT(refused.error_message(), Catch::Contains("has expired on 2023-11-14 22:14:20 UTC"));
}

TEST_CASE("Tokens: what cannot be one is refused by field, an unknown id by name", "[server]") {
  TokenPlay play;
  v1::CreateTokenRequest request;
  v1::CreateTokenResponse made;
  const auto create = [&] {
    const grpc::Status status =
        play.Admin(play.OverSocket(), &v1::AdminService::Stub::CreateToken, request, made);
    CHECK(status.error_code() == StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  CHECK_THAT(create(), Catch::StartsWith("role:"));
  request.set_role(v1::WORKER);
  request.set_name(std::string(129, 'n'));
  CHECK_THAT(create(), Catch::StartsWith("name: it has 129 characters"));
  request.set_name("ana\nrole admin");
  CHECK_THAT(create(), Catch::StartsWith("name: \"ana\\nrole admin\" has a line break"));
  request.set_name("");
  request.set_worker_names("gpu\x1b*");
  CHECK_THAT(create(), Catch::StartsWith("worker_names: "));
  request.set_worker_names("");
  request.set_valid_seconds(-1);
  CHECK_THAT(create(), Catch::StartsWith("valid_seconds: -1"));
  v1::RevokeTokenRequest unknown;
  unknown.set_id("0badc0de");
  v1::Token token;
  const grpc::Status status =
      play.Admin(play.OverSocket(), &v1::AdminService::Stub::RevokeToken, unknown, token);
  CHECK(status.error_code() == StatusCode::NOT_FOUND);
  CHECK_THAT(status.error_message(), Catch::Contains("0badc0de"));
}

TEST_CASE("Tokens: the socket and its folder are the server's user's alone", "[server]") {
  TokenPlay play;
  struct stat socket = {};
  struct stat folder = {};
  REQUIRE(stat(play.options.socket.c_str(), &socket) == 0);
  REQUIRE(stat(std::filesystem::path(play.options.socket).parent_path().c_str(), &folder) == 0);
  CHECK((socket.st_mode & 0777) == 0600);
  CHECK((folder.st_mode & 0777) == 0700);
}

TEST_CASE("Tokens: that of an allocation is for this allocation's workers, by node or as pods", "[server]") {
  TokenPlay play;
  absl::StatusOr<MadeToken> made = MakeAllocationToken("winnow-0123abcd-gpu-2");
  REQUIRE(made.ok());
  absl::Status stored;
  REQUIRE(
      play.Inside([&](Engine& engine) { stored = engine.context().store.tokens.Insert(made->row); }).ok());
  REQUIRE(stored.ok());
  play.StartServer();
  const auto stub = v1::WorkerService::NewStub(*Connect(play.OverTcp(made->secret)));
  const auto sync = [&](const std::string& name) {
    const v1::SyncRequest request = FakeWorker(play, name, 1).Request();
    v1::SyncResponse response;
    return TokenPlay::Do(*stub, &v1::WorkerService::Stub::Sync, request, response);
  };
  for (const char* rest : {".0", "-4mrc9", "-0-4mrc9"}) {
    const grpc::Status joined = sync(std::string("winnow-0123abcd-gpu-2") + rest);
    INFO(joined.error_message());
    CHECK(joined.ok());
  }
  for (const char* rest : {"", "0.0", "0-0-4mrc9", "-3.0", "-3-0-4mrc9"}) {
    const grpc::Status refused = sync(std::string("winnow-0123abcd-gpu-2") + rest);
    CHECK(refused.error_code() == StatusCode::PERMISSION_DENIED);
    CHECK_THAT(refused.error_message(), Catch::StartsWith("name: \"winnow-0123abcd-gpu-2"));
  }
}

TEST_CASE("Tokens: each caller has a rate of its own", "[server]") {
  TokenPlay play({}, 2);  // a burst of 4
  const std::string one = play.MakeToken(v1::VIEWER).secret();
  const std::string other = play.MakeToken(v1::VIEWER).secret();
  for (int i = 0; i < 4; ++i) CHECK(play.List(play.OverTcp(one)).ok());
  const grpc::Status refused = play.List(play.OverTcp(one));
  CHECK(refused.error_code() == StatusCode::RESOURCE_EXHAUSTED);
  CHECK_THAT(refused.error_message(), Catch::Contains("more than 2 calls per second"));
  CHECK(play.List(play.OverTcp(other)).ok());
  play.Tick(1'000'000);
  CHECK(play.List(play.OverTcp(one)).ok());
}

TEST_CASE("Tokens: a message beyond the limit is refused", "[server]") {
  TokenPlay play;
  v1::CreateTokenRequest request;
  request.set_role(v1::ADMIN);
  request.set_name(std::string(17 << 20, 'n'));
  v1::CreateTokenResponse made;
  const grpc::Status status =
      play.Admin(play.OverSocket(), &v1::AdminService::Stub::CreateToken, request, made);
  CHECK(status.error_code() == StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace winnow
