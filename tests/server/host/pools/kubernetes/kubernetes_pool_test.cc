#include "server/host/pools/kubernetes/kubernetes_pool.h"

#include <algorithm>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/server/host/pools/kubernetes/api_play.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using std::chrono::milliseconds;
using Json = nlohmann::json;
using Calls = std::vector<std::string>;

constexpr char kJobsPath[] = "/apis/batch/v1/namespaces/n/jobs";
constexpr char kJobPath[] = "/apis/batch/v1/namespaces/n/jobs/winnow-0-p-1";
constexpr char kPodsPath[] = "/api/v1/namespaces/n/pods";
constexpr char kSecretsPath[] = "/api/v1/namespaces/n/secrets";
constexpr char kSecretPath[] = "/api/v1/namespaces/n/secrets/winnow-0-p-1";

// A pool whose lists are empty but for `jobs` and `pods`; its watches stay silent. Other calls are answered
// by `answers`, else by an object with a uid.
struct PoolPlay {
  using Answer = std::function<void(ScriptedReply&)>;

  PoolPlay()
      : play([this](const ScriptedRequest& request, ScriptedReply& reply) { Handle(request, reply); }) {}
  ~PoolPlay() { pool.reset(); }

  void Handle(const ScriptedRequest& request, ScriptedReply& reply) {
    if (!request.Query("watch").empty()) {
      reply.Begin();
      return play.server->WaitForGate();
    }
    const std::string call = request.call();
    MutexLock lock(mutex);
    for (const auto& [path, items] : {std::pair{kJobsPath, &jobs}, std::pair{kPodsPath, &pods}}) {
      if (call == std::string("GET ") + path)
        return reply.Send(200, Json{{"metadata", {{"resourceVersion", "1"}}}, {"items", *items}}.dump());
    }
    made.push_back(call);
    if (const auto found = answers.find(call); found != answers.end()) return found->second(reply);
    const Json object = {{"metadata", {{"name", "winnow-0-p-1"}, {"uid", "u"}}}};
    if (call == std::string("POST ") + kJobsPath) jobs.push_back(object);
    reply.Send(200, object.dump());
  }
  void Start() {
    KubernetesPoolOptions options;
    options.access = play.source();
    options.pods.pool = "winnow-0-p";
    options.pods.image = "i";
    options.times.answer = milliseconds(20'000);
    options.lost_pod_after = milliseconds(0);
    pool = *KubernetesPool::Start(options);
  }
  // Calls but those for lists and watches.
  Calls Made() {
    MutexLock lock(mutex);
    return made;
  }
  static AllocationRequest Request() {
    AllocationRequest request;
    request.name = "winnow-0-p-1";
    request.command = {"winnow-worker"};
    request.files = {{"token", "t"}};
    return request;
  }
  static Answer Refuse(int code, const std::string& reason, const std::string& words) {
    return [=](ScriptedReply& reply) { reply.Send(code, ApiStatus(code, reason, words)); };
  }

  Json jobs = Json::array(), pods = Json::array();
  std::map<std::string, Answer> answers;
  Mutex mutex;
  Calls made ABSL_GUARDED_BY(mutex);
  ApiPlay play;
  std::unique_ptr<KubernetesPool> pool;
};

const std::string kPostSecret = std::string("POST ") + kSecretsPath;
const std::string kPutSecret = std::string("PUT ") + kSecretPath;
const std::string kDeleteSecret = std::string("DELETE ") + kSecretPath;
const std::string kPostJob = std::string("POST ") + kJobsPath;
const std::string kDeleteJob = std::string("DELETE ") + kJobPath;

TEST_CASE("the secret is made before the Job, and belongs to it afterwards") {
  PoolPlay play;
  play.Start();
  const auto ids = play.pool->Submit({PoolPlay::Request()});
  REQUIRE(ids.ok());
  CHECK_THAT(*ids, Equals(Calls{"u"}));
  CHECK_THAT(play.Made(), Equals(Calls{"GET /version", kPostSecret, kPostJob, kPutSecret}));
  const auto listed = play.pool->List({{"winnow-0-p-1", "u"}, {"winnow-0-p-2", ""}});
  REQUIRE(listed.ok());
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().id == "u");
  CHECK(listed->front().state == Allocation::State::kQueued);
}

TEST_CASE("what exists already is found by its name, and its secret is the newest") {
  PoolPlay play;
  play.answers[kPostSecret] = PoolPlay::Refuse(409, "AlreadyExists", "secret");
  play.answers[kPostJob] = PoolPlay::Refuse(409, "AlreadyExists", "job");
  play.Start();
  CHECK(absl::IsAlreadyExists(play.pool->Submit({PoolPlay::Request()}).status()));
  CHECK_THAT(play.Made(), Equals(Calls{"GET /version", kPostSecret, kPutSecret, kPostJob}));
}

TEST_CASE("a Job that is refused leaves no secret, and a quota may allow it another time") {
  const bool quota = GENERATE(false, true);
  PoolPlay play;
  play.answers[kPostJob] =
      PoolPlay::Refuse(403, "Forbidden", quota ? "exceeded quota: team" : "not in this namespace");
  play.Start();
  const absl::Status status = play.pool->Submit({PoolPlay::Request()}).status();
  CHECK(status.code() ==
        (quota ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kPermissionDenied));
  CHECK_THAT(MessageOf(status), Contains(quota ? "exceeded quota: team" : "not in this namespace"));
  CHECK(play.Made().back() == kDeleteSecret);
}

TEST_CASE("where the answer to a submission is lost nothing is concluded") {
  PoolPlay play;
  play.answers[kPostJob] = [](ScriptedReply& reply) { reply.Drop(); };
  play.Start();
  CHECK(absl::IsUnavailable(play.pool->Submit({PoolPlay::Request()}).status()));
  CHECK(play.Made().back() == kPostJob);
}

TEST_CASE("what the pool is cancelled or forgotten by removes Job and secret, also those that are gone") {
  PoolPlay play;
  play.answers[kDeleteJob] = PoolPlay::Refuse(404, "NotFound", "gone");
  play.Start();
  CHECK(play.pool->Cancel({{"winnow-0-p-1", "u"}}).ok());
  CHECK(play.pool->Forget({"winnow-0-p-1", "u"}).ok());
  CHECK_THAT(play.Made(), Equals(Calls{kDeleteJob, kDeleteSecret, kDeleteJob, kDeleteSecret}));
}

TEST_CASE("a quota that is used up is told while an allocation has no pods") {
  PoolPlay play;
  play.jobs = Json::array({Json{{"metadata", {{"name", "winnow-0-p-1"}, {"uid", "u"}}}}});
  play.answers["GET /api/v1/namespaces/n/events"] = [](ScriptedReply& reply) {
    const Json events = Json::array({Json{{"lastTimestamp", "2"}, {"message", "exceeded quota: team"}},
                                     Json{{"lastTimestamp", "1"}, {"message", "older"}}});
    reply.Send(200, Json{{"items", events}}.dump());
  };
  play.Start();
  for (int i = 0; i < 3; ++i) {
    const auto listed = play.pool->List({{"winnow-0-p-1", ""}});
    REQUIRE(listed.ok());
    CHECK_THAT(listed->front().reason, Contains("exceeded quota: team"));
  }
  CHECK(play.Made().size() == 1);  // events are not asked for each time
}

TEST_CASE("a pod that does not leave its node after its grace is removed") {
  PoolPlay play;
  play.pods = Json::array({Json{{"metadata",
                                 {{"name", "winnow-0-p-1-x"},
                                  {"uid", "v"},
                                  {"labels", {{"winnow/allocation", "winnow-0-p-1"}}},
                                  {"deletionTimestamp", "2026-11-25T16:08:47Z"},
                                  {"deletionGracePeriodSeconds", 0}}},
                                {"spec", {{"nodeName", "node-1"}}},
                                {"status", {{"phase", "Running"}}}}});
  play.Start();
  const auto listed = play.pool->List({{"winnow-0-p-1", "u"}});
  REQUIRE(listed.ok());
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().state == Allocation::State::kRunning);
  CHECK(listed->front().id == "u");
  CHECK(listed->front().reason == "its Job was removed");
  CHECK_THAT(play.Made(), Equals(Calls{std::string("DELETE ") + kPodsPath + "/winnow-0-p-1-x"}));
}

TEST_CASE("what a pool would submit is shown without the secret") {
  PoolPlay play;
  play.Start();
  AllocationRequest request = PoolPlay::Request();
  request.files = {{"token", "never-shown"}};
  const std::string text = play.pool->Render({request});
  CHECK(Json::parse(text)["items"].size() == 2);
  CHECK_THAT(text, !Contains("never-shown"));
}

}  // namespace
}  // namespace winnow
