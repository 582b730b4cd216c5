#include "tests/server/grpc/service_play.h"
#include "tests/support/certificates.h"

namespace winnow {
namespace {

std::string Problem(const GrpcServerOptions& options) { return std::string(CheckListen(options).message()); }

TEST_CASE("Listen: on loopback as it is, and an address that is one", "[server]") {
  for (const char* good : {"127.0.0.1:7070", "localhost:0", "[::1]:65535", "127.1.2.3:1"}) {
    INFO(good);
    CHECK(Problem({.address = good}) == "");
  }
  for (const char* bad :
       {"", "7070", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", ":7070", "unix:/run/s"}) {
    INFO(bad);
    CHECK_THAT(Problem({.address = bad}), Catch::Contains("expected HOST:PORT"));
  }
}

TEST_CASE("Listen: beyond loopback only with TLS and tokens, both of them", "[server]") {
  TempFolder folder;
  const Certificates certificates(folder.file("tls"));
  certificates.Make("server");
  for (const char* wide : {"0.0.0.0:7070", "192.168.1.5:7070", "example.org:80", "[::]:7070"}) {
    INFO(wide);
    GrpcServerOptions options = {.address = wide};
    CHECK_THAT(Problem(options), Catch::Contains(wide) && Catch::Contains("TLS and tokens are required"));
    options.auth.tokens_required = true;
    CHECK_THAT(Problem(options), Catch::Contains("TLS and tokens are required"));
    options.tls = {certificates.cert("server"), certificates.key("server")};
    CHECK(Problem(options) == "");
    options.auth.tokens_required = false;
    CHECK_THAT(Problem(options), Catch::Contains("TLS and tokens are required"));
  }
}

TEST_CASE("Listen: a server that lacks TLS or tokens does not start beyond loopback", "[server]") {
  ServicePlay play;
  const auto server = GrpcServer::Start({.address = "0.0.0.0:0"}, play.coordinator(), *play.reader, play.hub);
  CHECK(absl::IsInvalidArgument(server.status()));
}

TEST_CASE("Listen: a port in use is refused", "[server]") {
  ServicePlay play;
  std::string address = "127.0.0.1:" + std::to_string(play.server->port());
  auto second = GrpcServer::Start({.address = address}, play.coordinator(), *play.reader, play.hub);
  CHECK(second.status().code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(second.status().message()), Catch::Contains(address) &&
                                                       Catch::Contains("the port is in use"));
}

}  // namespace
}  // namespace winnow
