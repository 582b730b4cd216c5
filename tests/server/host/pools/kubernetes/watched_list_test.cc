#include "server/host/pools/kubernetes/watched_list.h"

#include <atomic>
#include <optional>

#include "tests/catch.h"
#include "tests/server/host/pools/kubernetes/api_play.h"

namespace winnow {
namespace {

using Catch::Matchers::Equals;
using std::chrono::milliseconds;
using Json = nlohmann::json;
using Names = std::vector<std::string>;

Json Thing(const std::string& name, int version, const std::string& uid = "") {
  return {
      {"metadata",
       {{"name", name}, {"uid", uid.empty() ? name : uid}, {"resourceVersion", std::to_string(version)}}}};
}

std::string Event(const std::string& type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump() + "\n";
}

std::string ListOf(const std::vector<Json>& things, int version) {
  return Json{{"metadata", {{"resourceVersion", std::to_string(version)}}}, {"items", things}}.dump();
}

// A server with one list of things; each watch that is asked for gets the next script.
struct WatchPlay {
  using Script = std::function<void(const ScriptedRequest&, ScriptedReply&)>;

  WatchPlay(std::vector<std::string> list_answers, std::vector<Script> watch_scripts)
      : lists(std::move(list_answers)), watches(std::move(watch_scripts)), play(Handler()) {}

  ScriptedServer::Handler Handler() {
    return [this](const ScriptedRequest& request, ScriptedReply& reply) {
      if (request.Query("watch").empty()) {
        const size_t at = std::min<size_t>(listed++, lists.size() - 1);
        return lists[at].empty() ? reply.Drop() : reply.Send(200, lists[at]);
      }
      {
        MutexLock lock(mutex);
        versions.push_back(request.Query("allowWatchBookmarks") + " " + request.Query("resourceVersion"));
      }
      const size_t at = watched++;
      if (at < watches.size()) return watches[at](request, reply);
      // Beyond the scripts a watch is open and silent.
      reply.Begin();
      play.server->WaitForGate();
    };
  }
  void Start() {
    client.emplace(play.source());
    list = std::make_unique<WatchedList>(
        *client, WatchedList::Options{"/things", "", milliseconds(1), milliseconds(20)});
  }
  ~WatchPlay() {
    if (client) client->Stop();
    list.reset();
  }
  Names Items() {
    Names names;
    if (const auto items = list->Items(milliseconds(30'000)); items.ok()) {
      for (const Json& item : *items) names.push_back(item["metadata"]["name"]);
    }
    return names;
  }
  // Waits until those are the items.
  bool Becomes(const Names& names) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (Items() != names && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return Items() == names;
  }

  // Where each watch so far was asked to begin, after whether it asked for bookmarks.
  Names Versions() {
    MutexLock lock(mutex);
    return versions;
  }

  Mutex mutex;
  Names versions ABSL_GUARDED_BY(mutex);
  std::atomic<size_t> listed = 0, watched = 0;
  std::vector<std::string> lists;
  std::vector<Script> watches;
  ApiPlay play;
  std::optional<ApiClient> client;
  std::unique_ptr<WatchedList> list;
};

TEST_CASE("a list is followed: what is added, changed and removed") {
  WatchPlay play({ListOf({Thing("a", 1), Thing("b", 2)}, 5)},
                 {[&](const ScriptedRequest&, ScriptedReply& reply) {
                   reply.Begin();
                   reply.Piece(Event("ADDED", Thing("c", 6)) + Event("DELETED", Thing("a", 7)));
                   play.play.server->WaitForGate();
                 }});
  play.Start();
  CHECK(play.Becomes({"b", "c"}));
  CHECK_THAT(play.Versions(), Equals(Names{"true 5"}));
  CHECK(play.list->lists() == 1);
}

TEST_CASE("a watch that ends or is cut off goes on after its newest event or bookmark, without a new list") {
  const bool cut = GENERATE(false, true);
  WatchPlay play({ListOf({}, 5)},
                 {[&](const ScriptedRequest&, ScriptedReply& reply) {
                    reply.Begin();
                    reply.Piece(Event("ADDED", Thing("a", 6)) + Event("BOOKMARK", Thing("", 90)));
                    if (cut) reply.Drop();
                  },
                  [&](const ScriptedRequest&, ScriptedReply& reply) {
                    reply.Begin();
                    reply.Piece(Event("ADDED", Thing("b", 91)));
                    play.play.server->WaitForGate();
                  }});
  play.Start();
  CHECK(play.Becomes({"a", "b"}));
  CHECK_THAT(play.Versions(), Equals(Names{"true 5", "true 90"}));
  CHECK(play.list->lists() == 1);
}

TEST_CASE("a watch whose place the server has forgotten is followed by a new list") {
  const bool in_stream = GENERATE(false, true);
  WatchPlay play({ListOf({Thing("a", 1)}, 5), ListOf({Thing("b", 8)}, 50)},
                 {[&](const ScriptedRequest&, ScriptedReply& reply) {
                   const std::string gone = ApiStatus(410, "Expired", "too old resource version");
                   if (!in_stream) return reply.Send(410, gone);
                   reply.Begin();
                   reply.Piece(Event("ERROR", Json::parse(gone)));
                 }});
  play.Start();
  CHECK(play.Becomes({"b"}));
  CHECK(play.list->lists() == 2);
}

TEST_CASE("while the server is not there nothing is known, and afterwards all is") {
  WatchPlay play({"", ListOf({Thing("a", 1)}, 5)}, {});
  const int port = play.play.server->port();
  play.play.server.reset();
  play.Start();
  CHECK(absl::IsUnavailable(play.list->Items(milliseconds(30'000)).status()));
  play.play.server = std::make_unique<ScriptedServer>(play.Handler(), port);
  CHECK(play.Becomes({"a"}));
}

TEST_CASE("what was created is in the list at once, and stays removed when its removal came first") {
  WatchPlay play({ListOf({}, 5)}, {[&](const ScriptedRequest&, ScriptedReply& reply) {
                   reply.Begin();
                   reply.Piece(Event("ADDED", Thing("early", 6)) + Event("DELETED", Thing("early", 7)) +
                               Event("ADDED", Thing("mark", 8)));
                   play.play.server->WaitForGate();
                 }});
  play.Start();
  REQUIRE(play.Becomes({"mark"}));
  play.list->Put(Thing("early", 6));
  play.list->Put(Thing("mine", 9));
  CHECK_THAT(play.Items(), Equals(Names{"mark", "mine"}));
}

}  // namespace
}  // namespace winnow
