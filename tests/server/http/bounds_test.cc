// Slow, huge and malformed requests, and too many connections.

#include "server/http/connections.h"
#include "tests/server/http/http_play.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;

// What the tests wait for to be over. Who is not to be cut off has to send what he has within it.
constexpr milliseconds kShort{300};

HttpServerOptions Limits(HttpLimits limits) {
  HttpServerOptions options;
  options.limits = limits;
  return options;
}

TEST_CASE("Bounds: a header that drips in is cut off, while others are served", "[http]") {
  HttpPlay play(Limits({.read_header = kShort}));
  HttpClient slow(play.port());
  CHECK(slow.Send("GET /healthz HTTP/1.1\r\nHost: loc"));
  CHECK(play.Ask("GET", "/healthz").status == 200);
  CHECK(slow.IsClosed());
}

TEST_CASE("Bounds: a body that drips in is cut off", "[http]") {
  HttpPlay play(Limits({.read_body = kShort}));
  HttpClient slow(play.port());
  CHECK(slow.Send("POST /v1/preview HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"));
  CHECK(slow.IsClosed());
  CHECK(play.Ask("GET", "/healthz").status == 200);
}

TEST_CASE("Bounds: a connection that says nothing is closed when its time is over", "[http]") {
  HttpPlay play(Limits({.idle = kShort}));
  HttpClient never(play.port());
  CHECK(never.IsClosed());
  HttpClient once(play.port());
  CHECK(once.Ask("GET", "/healthz").status == 200);
  CHECK(once.IsClosed());
}

TEST_CASE("Bounds: a header that is too long is refused", "[http]") {
  HttpPlay play;
  HttpClient client(play.port());
  client.Send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + std::string(20'000, 'x') + "\r\n\r\n");
  CHECK(client.Read().status == 431);
  CHECK(client.IsClosed());
}

TEST_CASE("Bounds: a body that is too long is refused, by its length or when it gets there", "[http]") {
  HttpPlay play(Limits({.body_bytes = 10'000}));
  const std::string head =
      "POST /v1/preview HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  HttpClient told(play.port());
  told.Send(head + "Content-Length: 10001\r\n\r\n");
  CHECK(told.Read().status == 413);
  CHECK(told.IsClosed());
  HttpClient huge(play.port());
  huge.Send(head + "Content-Length: 99999999999999999999\r\n\r\n");
  CHECK(huge.Read().status == 400);
  HttpClient chunked(play.port());
  chunked.Send(head + "Transfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 20 && chunked.Send("400\r\n" + std::string(1024, ' ') + "\r\n"); ++i) {
  }
  CHECK(chunked.Read().status == 413);
  HttpClient sent(play.port());
  sent.Send(head + "Content-Length: 1000000\r\n\r\n" + std::string(1'000'000, ' '));
  CHECK(sent.Read().status == 413);  // although the client sent it all
}

TEST_CASE("Bounds: bodies of unknown length keep out no request that has none", "[http]") {
  HttpPlay play(Limits({.body_bytes = 64u << 20}));
  const auto begin = [&play](const char* path) {
    auto client = std::make_unique<HttpClient>(play.port());
    client->Send(std::string("POST ") + path +
                 " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
    return client;
  };
  std::vector<std::unique_ptr<HttpClient>> all;
  SECTION("of callers who may send long ones") {
    for (int i = 0; i < 4; ++i) {
      all.push_back(begin("/v1/preview"));
      CHECK(all.back()->ReadHead().status == 100);  // its room is taken
    }
    const auto refused = begin("/v1/preview");
    CHECK(refused->Read().status == 503);
    CHECK(play.Ask("GET", "/v1/workers").status == 200);  // while that one still has its connection
  }
  SECTION("of callers who are not known yet") {
    for (int i = 0; i < 8; ++i) {
      all.push_back(begin("/login"));
      CHECK(all.back()->ReadHead().status == 100);
    }
    CHECK(play.Ask("POST", "/v1/preview", "{}").status == 400);
  }
  CHECK(play.Ask("GET", "/v1/workers").status == 200);
}

TEST_CASE(
    "Bounds: who reads no answers has no more than a share of the memory for them, and short ones are sent",
    "[http]") {
  HttpPlay play(Limits({.answer_bytes = 1'000'000}));
  nlohmann::json spec = {
      {"name", "large"},
      {"trainer", {{"command", {"true"}}, {"environment", {{"X", std::string(600'000, 'x')}}}}},
      {"parameters", {{{"name", "x"}, {"integer", {{"min", 1}, {"max", 9}}}}}},
      {"objective", {{"metric", "loss"}, {"goal", "MINIMIZE"}}},
      {"strategy", "RANDOM"},
      {"limits", {{"max_trials", 1}}}};
  spec["working_directory"] = "/tmp";
  spec["trainer"]["metrics"] = {{{"name", "loss"}, {"regex", "loss=(.*)"}}};
  const HttpReply created = play.Ask("POST", "/v1/tuning-jobs", nlohmann::json{{"spec", spec}}.dump());
  INFO(created.body.substr(0, 1000));
  REQUIRE(created.status == 200);
  const auto ask = [&play] { return play.Ask("GET", "/v1/tuning-jobs/large").status; };
  CHECK(ask() == 200);
  auto never = std::make_unique<HttpClient>(play.port());
  std::string requests;  // more than the system keeps of their answers
  for (int i = 0; i < 100; ++i) requests += RequestText("GET", "/v1/tuning-jobs/large", "", {});
  CHECK(never->Send(requests));
  constexpr int kMost = 10'000;
  int asked = 0;
  while (asked < kMost && ask() == 200) ++asked;
  REQUIRE(asked < kMost);
  CHECK(play.Ask("GET", "/v1/caller").status == 200);
  never = nullptr;
  for (asked = 0; asked < kMost && ask() != 200; ++asked) {
  }
  CHECK(asked < kMost);
}

TEST_CASE("Bounds: bytes that are not HTTP get an error, and the connection is closed", "[http]") {
  HttpPlay play;
  const std::string host = "Host: localhost\r\n", post = "POST /v1/preview HTTP/1.1\r\n";
  const std::string hidden = "GET /healthz HTTP/1.1\r\n" + host + "\r\n";
  const std::vector<std::string> wrong = {
      "nonsense\r\n\r\n", "GET / HTTP/9.9\r\n" + host + "\r\n", "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\n" + host + host + "\r\n", "GET / HTTP/1.1\r\n" + host + "a b: c\r\n\r\n",
      "GET /a b HTTP/1.1\r\n" + host + "\r\n",
      "POST /v1/preview HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "POST /v1/preview HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n",
      "POST /v1/preview HTTP/1.1\r\n" + host +
          "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      // A proxy in front would read the second request as the body of the first.
      post + host + "Transfer-Encoding: gzip\r\n\r\n" + hidden,
      post + host + "Transfer-Encoding: chunked, gzip\r\n\r\n" + hidden,
      post + host + "Transfer-Encoding: xchunked\r\n\r\n" + hidden,
      "POST /v1/preview HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden};
  for (const std::string& text : wrong) {
    HttpClient client(play.port());
    client.Send(text);
    const HttpReply reply = client.Read();
    INFO(text << reply.body);
    CHECK(reply.status == 400);
    CHECK(client.IsClosed());
  }
  HttpClient absolute(play.port());
  absolute.Send("GET http://localhost/v1/workers HTTP/1.1\r\n" + host + "\r\n");
  CHECK(absolute.Read().status == 400);
}

TEST_CASE("Bounds: beyond the most connections, the one that has waited longest goes", "[http]") {
  HttpServerOptions options = Limits({.connections = 3});
  options.threads = 1;  // in order: an answered connection is idle before the next one is read
  HttpPlay play(options);
  HttpClient first(play.port());
  CHECK(first.Ask("GET", "/healthz").status == 200);
  HttpClient second(play.port());
  CHECK(second.Ask("GET", "/healthz").status == 200);
  CHECK(first.Ask("GET", "/healthz").status == 200);  // now the second has waited longer
  HttpClient third(play.port());
  CHECK(third.Ask("GET", "/healthz").status == 200);
  HttpClient fourth(play.port());
  CHECK(fourth.Ask("GET", "/healthz").status == 200);
  CHECK(second.IsClosed());
  CHECK(first.Ask("GET", "/healthz").status == 200);
}

TEST_CASE("Bounds: who only begins requests keeps nobody out", "[http]") {
  HttpPlay play(Limits({.connections = 3}));
  std::vector<std::unique_ptr<HttpClient>> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(std::make_unique<HttpClient>(play.port()));
    slow.back()->Send("GET / HT");
    CHECK(play.Ask("GET", "/healthz").status == 200);
  }
}

TEST_CASE(
    "Bounds: of connections, those that wait are closed, the longest first, and at a stop as soon as they "
    "wait",
    "[http]") {
  Connections connections(1);
  int closed = 0;
  auto one = connections.Add([&] { closed = 1; });
  auto two = connections.Add([&] { closed = 2; });
  CHECK(closed == 1);
  two->Waits(false);
  auto three = connections.Add([&] { closed = 3; });
  CHECK(closed == 3);  // nobody else waits
  one = nullptr;
  three = nullptr;
  CHECK_FALSE(connections.WaitForNone(milliseconds(0)));
  connections.StopWaiting();
  CHECK(closed == 3);
  two->Waits(true);
  CHECK(closed == 2);
  two = nullptr;
  CHECK(connections.WaitForNone(milliseconds(0)));
}

}  // namespace
}  // namespace winnow
