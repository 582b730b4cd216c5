#include "server/host/pools/kubernetes/api_client.h"

#include <atomic>
#include <thread>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/server/host/pools/kubernetes/api_play.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using std::chrono::milliseconds;
using Json = nlohmann::json;

constexpr char kJobs[] = "/apis/batch/v1/namespaces/n/jobs";

TEST_CASE("a call carries its method, path, object and the token, and the answer is its JSON") {
  ScriptedRequest seen;
  ApiPlay play([&](const ScriptedRequest& request, ScriptedReply& reply) {
    seen = request;
    reply.Send(201, R"({"metadata":{"uid":"u"}})");
  });
  ApiClient client(play.source());
  const auto made = client.Create(kJobs, Json{{"kind", "Job"}});
  REQUIRE(made.ok());
  CHECK((*made)["metadata"]["uid"] == "u");
  CHECK(seen.call() == std::string("POST ") + kJobs);
  CHECK(seen.headers["authorization"] == "Bearer first");
  CHECK(seen.headers["content-type"] == "application/json");
  CHECK(seen.body == R"({"kind":"Job"})");
}

TEST_CASE("each kind of refusal has its status, with the server's words") {
  struct Refusal {
    int code;
    const char* reason;
    absl::StatusCode status;
  };
  const auto refusal = GENERATE(Refusal{400, "BadRequest", absl::StatusCode::kInvalidArgument},
                                Refusal{403, "Forbidden", absl::StatusCode::kPermissionDenied},
                                Refusal{404, "NotFound", absl::StatusCode::kNotFound},
                                Refusal{409, "AlreadyExists", absl::StatusCode::kAlreadyExists},
                                Refusal{409, "Conflict", absl::StatusCode::kAborted},
                                Refusal{410, "Expired", absl::StatusCode::kOutOfRange},
                                Refusal{422, "Invalid", absl::StatusCode::kInvalidArgument},
                                Refusal{500, "InternalError", absl::StatusCode::kUnavailable});
  ApiPlay play([&](const ScriptedRequest&, ScriptedReply& reply) {
    reply.Send(refusal.code, ApiStatus(refusal.code, refusal.reason, "the words\nof it"));
  });
  const absl::Status status = ApiClient(play.source()).Create(kJobs, Json::object()).status();
  CHECK(status.code() == refusal.status);
  CHECK_THAT(MessageOf(status), Contains("the words of it"));
}

TEST_CASE("what is gone already is deleted") {
  ApiPlay play(
      [](const ScriptedRequest&, ScriptedReply& reply) { reply.Send(404, ApiStatus(404, "NotFound", "")); });
  CHECK(ApiClient(play.source()).Delete("/x", Json::object()).ok());
}

TEST_CASE("a call that is answered 429 is repeated after the time that the server names") {
  std::atomic<int> refusals = 2;
  ApiPlay play([&](const ScriptedRequest&, ScriptedReply& reply) {
    if (refusals-- > 0) {
      reply.Send(429, ApiStatus(429, "TooManyRequests", "slow down"), "Retry-After: 0\r\n");
    } else {
      reply.Send(200, "{}");
    }
  });
  ApiClient client(play.source(), {.first_pause = milliseconds(60'000)});
  CHECK(client.Get("/x").ok());
  CHECK(play.server->calls().size() == 3);
}

TEST_CASE("a server that asks for more patience than a call has refuses it") {
  ApiPlay play([](const ScriptedRequest&, ScriptedReply& reply) {
    reply.Send(429, ApiStatus(429, "TooManyRequests", "slow down"), "Retry-After: 3600\r\n");
  });
  const absl::Status status = ApiClient(play.source()).Get("/x").status();
  CHECK(absl::IsResourceExhausted(status));
  CHECK(play.server->calls().size() == 1);
}

TEST_CASE("a token that is no longer good is read again") {
  ApiPlay play([](const ScriptedRequest& request, ScriptedReply& reply) {
    if (request.headers.at("authorization") == "Bearer second") {
      reply.Send(200, "{}");
    } else {
      reply.Send(401, ApiStatus(401, "Unauthorized", "Unauthorized"));
    }
  });
  ApiClient client(play.source());
  const absl::Status refused = client.Get("/x").status();
  CHECK(absl::IsUnauthenticated(refused));
  CHECK_THAT(MessageOf(refused), Catch::Contains("answers 401: Unauthorized; the token or certificate"));
  play.PutToken("second");
  CHECK(client.Get("/x").ok());
}

TEST_CASE("a token is read again when it is old, though the server still takes it") {
  std::string seen;
  ApiPlay play([&](const ScriptedRequest& request, ScriptedReply& reply) {
    seen = request.headers.at("authorization");
    reply.Send(200, "{}");
  });
  ApiClient client(play.source(), {.access_age = milliseconds(0)});
  REQUIRE(client.Get("/x").ok());
  play.PutToken("second");
  REQUIRE(client.Get("/x").ok());
  CHECK(seen == "Bearer second");
}

TEST_CASE("a server that says nothing, hangs up or is not there is unavailable") {
  const std::string how = GENERATE("silent", "hangs up", "half an answer", "no JSON", "gone");
  ApiPlay play([&](const ScriptedRequest&, ScriptedReply& reply) {
    if (how == "silent") play.server->WaitForGate();
    if (how == "half an answer") {
      reply.Begin();
      reply.Piece("{");
    }
    if (how == "no JSON") return reply.Send(200, "<html>");
    reply.Drop();
  });
  ApiClient client(play.source(), {.answer = milliseconds(how == "silent" ? 200 : 20'000)});
  if (how == "gone") play.server.reset();
  const absl::Status status = client.Get("/x").status();
  CHECK(absl::IsUnavailable(status));
  if (how == "gone") CHECK_THAT(std::string(status.message()), Catch::Contains("connect to 127.0.0.1 port"));
  if (play.server != nullptr) play.server->Open();
}

TEST_CASE("Stop ends a call that waits, and those that follow") {
  ApiPlay play([&](const ScriptedRequest&, ScriptedReply& reply) {
    play.server->WaitForGate();
    reply.Drop();
  });
  ApiClient client(play.source());
  std::thread stopper([&] {
    play.server->WaitForCalls(1);
    client.Stop();
  });
  CHECK(absl::IsCancelled(client.Get("/x").status()));
  stopper.join();
  CHECK(absl::IsCancelled(client.Get("/x").status()));
  play.server->Open();
}

TEST_CASE("a list is read page by page") {
  ApiPlay play([](const ScriptedRequest& request, ScriptedReply& reply) {
    CHECK(request.Query("labelSelector") == "a%3Db");
    if (request.Query("continue").empty()) {
      reply.Send(200, R"({"metadata":{"resourceVersion":"7","continue":"more/"},"items":[1,2]})");
    } else {
      CHECK(request.Query("continue") == "more%2F");
      reply.Send(200, R"({"metadata":{"resourceVersion":"7"},"items":[3]})");
    }
  });
  const auto list = ApiClient(play.source()).List(kJobs, "labelSelector=" + QueryValue("a=b"));
  REQUIRE(list.ok());
  CHECK(list->version == "7");
  CHECK(list->items == std::vector<Json>{1, 2, 3});
}

TEST_CASE("a list whose pages the server forgets is read whole") {
  ApiPlay play([](const ScriptedRequest& request, ScriptedReply& reply) {
    if (request.Query("limit").empty())
      return reply.Send(200, R"({"metadata":{"resourceVersion":"9"},"items":[1,2,3]})");
    if (request.Query("continue").empty())
      return reply.Send(200, R"({"metadata":{"resourceVersion":"7","continue":"c"},"items":[1]})");
    reply.Send(410, ApiStatus(410, "Expired", "the continue parameter is too old"));
  });
  const auto list = ApiClient(play.source()).List(kJobs, "");
  REQUIRE(list.ok());
  CHECK(list->version == "9");
  CHECK(list->items.size() == 3);
}

TEST_CASE("the events of a stream are the same however its bytes are divided") {
  const std::string text =
      "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n\n{\"type\":\"BOOKMARK\",\"object\":{}}\r\n"
      "{\"type\":\"DELETED\",\"object\":{\"b\":\"\\n\"}}\n";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    EventStream stream;
    std::vector<std::string> seen;
    for (size_t at = 0; at < text.size(); at += piece) {
      REQUIRE(
          stream.Take(text.substr(at, piece), [&](const WatchEvent& event) { seen.push_back(event.type); })
              .ok());
    }
    CHECK_THAT(seen, Equals(std::vector<std::string>{"ADDED", "BOOKMARK", "DELETED"}));
  }
}

TEST_CASE("an error in a stream has its status, and what is no event is an error") {
  EventStream stream;
  const auto ignore = [](const WatchEvent&) {};
  CHECK(absl::IsOutOfRange(
      stream.Take("{\"type\":\"ERROR\",\"object\":" + ApiStatus(410, "Expired", "too old") + "}\n", ignore)));
  CHECK(absl::IsUnavailable(EventStream().Take("{\"type\":7}\n", ignore)));
  CHECK(absl::IsUnavailable(EventStream().Take("[[[[\n", ignore)));
}

}  // namespace
}  // namespace winnow
