#include "rpc/address.h"

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("Address: what is this machine's loopback, and what is not", "[rpc]") {
  for (const char* near : {"127.0.0.1:7070", "127.1.2.3:1", "localhost:65535", "[::1]:7070"}) {
    INFO(near);
    CHECK(ParseAddress(near)->kind == Address::Kind::kLoopback);
  }
  for (const char* far :
       {"10.0.0.1:7070", "example.org:7070", "0.0.0.0:7070", "[::]:7070", "localhost.example.org:1",
        "127.evil.example:7070", "[::ffff:10.0.0.1]:1", "unix.example:1"}) {
    INFO(far);
    CHECK(ParseAddress(far)->kind == Address::Kind::kRemote);
  }
  CHECK(ParseAddress("[::1]:7070")->host == "::1");
  CHECK(ParseAddress("example.org:7070")->port == 7070);
  CHECK(ParseAddress("unix:/run/winnow.sock")->path == "/run/winnow.sock");
}

TEST_CASE("Address: what is wrong with one is said", "[rpc]") {
  const auto wrong = [](const std::string& text) {
    return std::string(ParseAddress(text).status().message());
  };
  CHECK_THAT(wrong("127.0.0.1"),
             Catch::Contains("the port is missing") && Catch::Contains("expected HOST:PORT"));
  CHECK_THAT(wrong("http://127.0.0.1:7070"), Catch::Contains("it begins with a scheme"));
  CHECK_THAT(wrong(""), Catch::Contains("the port is missing"));
  CHECK_THAT(wrong(":7070"), Catch::Contains("the host is missing"));
  CHECK_THAT(wrong("::1:7070"), Catch::Contains("brackets"));
  CHECK_THAT(wrong("[10.0.0.1]:7070"), Catch::Contains("neither a name nor an address"));
  CHECK_THAT(wrong("a/b:7070"), Catch::Contains("neither a name nor an address"));
  CHECK_THAT(wrong("a\x1b[31m:7070"), Catch::Contains("\\x1b"));
  for (const char* port :
       {"127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x", "127.0.0.1:7070 "}) {
    INFO(port);
    CHECK_THAT(wrong(port), Catch::Contains("is not a number from 1 to 65535"));
  }
  CHECK(ParseAddress("127.0.0.1:0", 0).ok());
  CHECK_THAT(wrong("unix:here"), Catch::Contains("must begin with /"));
  CHECK_THAT(wrong("unix:/" + std::string(107, 'x')),
             Catch::Contains("has 108 bytes") && Catch::Contains("at most 107"));
}

TEST_CASE("Address: of several, none is a socket, and each is right", "[rpc]") {
  CHECK(ParseAddresses("unix:/run/winnow.sock")->front().path == "/run/winnow.sock");
  const auto two = *ParseAddresses("a.example:7070,[::1]:7071");
  REQUIRE(two.size() == 2);
  CHECK(two[0].host == "a.example");
  CHECK(two[1].port == 7071);
  const auto wrong = [](const std::string& text) {
    return std::string(ParseAddresses(text).status().message());
  };
  CHECK_THAT(wrong("a.example:7070,"), Catch::Contains("the port is missing"));
  CHECK_THAT(wrong("a.example:7070, b.example:7070"), Catch::Contains("neither a name nor an address"));
  CHECK_THAT(wrong("127.0.0.1:1,unix:/s"), Catch::Contains("cannot be one of several addresses"));
}

}  // namespace
}  // namespace winnow
