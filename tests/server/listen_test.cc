#include "tests/server/service_play.h"

namespace winnow {
namespace {

TEST_CASE("Listen: loopback only, and an address that is one", "[server]") {
  for (const char* good : {"127.0.0.1:7070", "localhost:0", "[::1]:65535", "127.1.2.3:1"}) {
    INFO(good);
    CHECK(CheckListenAddress(good).ok());
  }
  for (const char* wide : {"0.0.0.0:7070", "192.168.1.5:7070", "example.org:80", "[::]:7070"}) {
    INFO(wide);
    absl::Status status = CheckListenAddress(wide);
    CHECK_THAT(std::string(status.message()),
               Catch::Contains(wide) && Catch::Contains("TLS and tokens are required"));
  }
  for (const char* bad : {"", "7070", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", ":7070"}) {
    INFO(bad);
    absl::Status status = CheckListenAddress(bad);
    CHECK_THAT(std::string(status.message()), Catch::Contains("expected HOST:PORT"));
  }
}

TEST_CASE("Listen: a port that is taken is refused", "[server]") {
  ServicePlay play;
  std::string address = "127.0.0.1:" + std::to_string(play.server->port());
  auto second = GrpcServer::Start(address, play.coordinator(), *play.reader, play.hub);
  CHECK(second.status().code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(second.status().message()), Catch::Contains(address) && Catch::Contains("taken"));
}

}  // namespace
}  // namespace winnow
