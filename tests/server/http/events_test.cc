// Streams of answers as server-sent events.

#include <chrono>

#include "tests/server/http/http_play.h"

namespace winnow {
namespace {

std::string EventsOf(const std::string& id) { return "/v1/tuning-jobs/" + id + "/events"; }

// Returns the sequence number in an event's id; -1: none.
int64_t IdOf(const std::string& event) {
  return event.starts_with("id: ") ? std::stoll(event.substr(4)) : -1;
}

// All ids until the event "end", which must come.
std::vector<int64_t> IdsToEnd(HttpClient& client) {
  std::vector<int64_t> ids;
  for (std::optional<std::string> event; (event = client.ReadEvent());) {
    if (*event == "event: end\ndata: {}") {
      CHECK_FALSE(client.ReadEvent().has_value());
      return ids;
    }
    INFO(*event);
    if (!event->starts_with(":")) ids.push_back(IdOf(*event));
  }
  FAIL("the stream ends without an event \"end\"");
  return ids;
}

TEST_CASE("Events: a job is followed from its first fact to its end", "[http]") {
  HttpPlay play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(RandomJob(3));
  HttpClient client(play.port());
  client.Send(RequestText("GET", EventsOf(id), "", {}));
  const HttpReply head = client.ReadHead();  // before anything happens
  CHECK(head.status == 200);
  CHECK(head.headers.at("content-type") == "text/event-stream");
  CHECK(head.headers.at("cache-control") == "no-store");
  PlayToEnd(play, id, {&worker});
  const std::vector<int64_t> ids = IdsToEnd(client);
  REQUIRE(ids.size() == static_cast<size_t>(play.Describe(id).last_sequence()));
  for (size_t i = 0; i < ids.size(); ++i) CHECK(ids[i] == static_cast<int64_t>(i) + 1);
  CHECK(client.Ask("GET", "/healthz").status == 200);  // on the same connection
}

TEST_CASE("Events: an event's data is the message in JSON on one line", "[http]") {
  HttpPlay play;
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(RandomJob(1));
  PlayToEnd(play, id, {&worker});
  HttpClient client(play.port());
  client.Send(RequestText("GET", EventsOf(id), "", {}));
  CHECK(client.ReadHead().status == 200);
  const std::string event = client.ReadEvent().value_or("");
  const size_t data = event.find("\ndata: ");
  REQUIRE(data != std::string::npos);
  CHECK(nlohmann::json::parse(event.substr(data + 7))["sequence"] == 1);
}

TEST_CASE("Events: a stream goes on behind the last event that arrived", "[http]") {
  HttpPlay play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(RandomJob(30));
  PlayToEnd(play, id, {&worker});
  const int64_t last = play.Describe(id).last_sequence();
  const auto rest = [&](const std::string& query, const HttpClient::Headers& headers) {
    HttpClient client(play.port());
    client.Send(RequestText("GET", EventsOf(id) + query, "", headers));
    CHECK(client.ReadHead().status == 200);
    return IdsToEnd(client);
  };
  CHECK(rest("?afterSequence=5", {}).front() == 6);
  const std::vector<int64_t> resumed = rest("?after_sequence=5", {{"Last-Event-ID", "20"}});
  CHECK(resumed.front() == 21);
  CHECK(resumed.back() == last);
  CHECK(rest("", {{"Last-Event-ID", std::to_string(last)}}).empty());
  CHECK(play.Ask("GET", EventsOf(id), "", {{"Last-Event-ID", "nonsense"}}).status == 400);
}

TEST_CASE("Events: what is wrong before the first event is an answer with a status", "[http]") {
  HttpPlay play;
  CHECK(play.Ask("GET", EventsOf("nobody")).status == 404);
  CHECK(play.Ask("HEAD", EventsOf("nobody")).status == 405);
  CHECK(play.Ask("POST", EventsOf("nobody"), "{}").status == 405);
}

TEST_CASE("Events: a silent stream says that it is there", "[http]") {
  HttpServerOptions options;
  options.limits.heartbeat = std::chrono::milliseconds(1);
  HttpPlay play(options);
  const std::string id = play.Create(RandomJob(1));
  HttpClient client(play.port());
  client.Send(RequestText("GET", EventsOf(id), "", {}));
  CHECK(client.ReadHead().status == 200);
  std::string event = client.ReadEvent().value_or("");
  while (IdOf(event) >= 0) event = client.ReadEvent().value_or("");
  CHECK(event.starts_with(":"));
}

TEST_CASE("Events: the server's stop ends a stream with an error event, and waits for nobody", "[http]") {
  HttpPlay play;
  const std::string id = play.Create(RandomJob(1));
  HttpClient client(play.port());
  client.Send(RequestText("GET", EventsOf(id), "", {}));
  CHECK(client.ReadHead().status == 200);
  HttpClient idle(play.port());
  play.server->Stop(std::chrono::seconds(30));
  play.http->Stop(std::chrono::seconds(30));
  std::string last;
  for (std::optional<std::string> event; (event = client.ReadEvent());) last = *event;
  CHECK(last.starts_with("event: error\ndata: {\"code\":\"UNAVAILABLE\""));
  CHECK(client.IsClosed());
  CHECK(idle.IsClosed());
}

TEST_CASE("Events: clients that leave in the middle of many events hold up no stop", "[http]") {
  HttpPlay play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(RandomJob(30));
  PlayToEnd(play, id, {&worker});
  for (int i = 0; i < 100; ++i) {
    HttpClient client(play.port());
    client.Send(RequestText("GET", EventsOf(id), "", {}));
    CHECK(client.ReadHead().status == 200);
    CHECK(client.ReadEvent().has_value());
  }
  play.http->Stop(std::chrono::seconds(30));  // waits for what gRPC has not finished with
}

TEST_CASE("Events: a client that goes away takes its stream with it", "[http]") {
  HttpServerOptions options;
  options.limits.streams = 1;
  HttpPlay play(options);
  const std::string id = play.Create(RandomJob(1));
  {
    HttpClient client(play.port());
    client.Send(RequestText("GET", EventsOf(id), "", {}));
    CHECK(client.ReadHead().status == 200);
    CHECK(play.Ask("GET", EventsOf(id)).status == 503);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  int status = 503;
  while (status == 503 && std::chrono::steady_clock::now() < deadline) {
    HttpClient client(play.port());
    client.Send(RequestText("GET", EventsOf(id), "", {}));
    status = client.ReadHead().status;
  }
  CHECK(status == 200);
}

}  // namespace
}  // namespace winnow
