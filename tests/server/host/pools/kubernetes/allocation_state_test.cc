#include "server/host/pools/kubernetes/allocation_state.h"

#include "tests/catch.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;

Json JobOf(int parallelism) {
  return {{"metadata", {{"name", "a"}, {"uid", "u"}}}, {"spec", {{"parallelism", parallelism}}}};
}

Json FailedJob(Json job, const char* reason) {
  job["status"]["conditions"] =
      Json::array({Json{{"type", "Failed"}, {"status", "True"}, {"reason", reason}}});
  return job;
}

Json Pod(const std::string& name, const std::string& phase, const std::string& node = "node-1") {
  Json pod = {{"metadata", {{"name", name}}}, {"spec", Json::object()}, {"status", {{"phase", phase}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  return pod;
}

Json With(Json pod, const Json& status) {
  pod["status"].update(status);
  return pod;
}

Json ContainerIn(const Json& state) {
  return {{"containerStatuses", Json::array({Json{{"name", "worker"}, {"state", state}}})}};
}

KubernetesAllocation Read(const Json& job, const std::vector<Json>& pods, const std::string& trouble = "") {
  return ReadAllocation("a", job, pods, trouble);
}

TEST_CASE("an allocation without pods waits, and says for what") {
  CHECK(Read(JobOf(1), {}).phase == KubernetesPhase::kQueued);
  CHECK_THAT(Read(JobOf(1), {}, "exceeded quota: team").reason,
             Contains("no pods yet: exceeded quota: team"));
  Json suspended = JobOf(1);
  suspended["spec"]["suspend"] = true;
  suspended["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team";
  CHECK_THAT(Read(suspended, {}).reason, Contains("waits in Kueue's queue team"));
}

TEST_CASE("a pod for which there is no room says what the scheduler says") {
  const Json condition = {
      {"type", "PodScheduled"}, {"status", "False"}, {"message", "0/4 nodes are available"}};
  const auto read =
      Read(JobOf(1), {With(Pod("a-x", "Pending", ""), {{"conditions", Json::array({condition})}})});
  CHECK(read.phase == KubernetesPhase::kQueued);
  CHECK(read.reason == "pod a-x waits for a node: 0/4 nodes are available");
}

TEST_CASE("an image that cannot be pulled is named") {
  const Json waiting = {{"waiting", {{"reason", "ErrImagePull"}, {"message", "no such image"}}}};
  const auto read = Read(JobOf(1), {With(Pod("a-x", "Pending"), ContainerIn(waiting))});
  CHECK(read.phase == KubernetesPhase::kStarting);
  CHECK(read.reason == "pod a-x on node node-1 cannot start: image pull error, ErrImagePull: no such image");
}

TEST_CASE("an allocation runs once all its pods do, and before that it tells how many") {
  const auto part = Read(JobOf(2), {Pod("a-x", "Running"), Pod("a-y", "Pending", "node-2")});
  CHECK(part.phase == KubernetesPhase::kStarting);
  CHECK(part.reason == "1 of 2 pods run: pod a-y on node node-2 is starting");
  const auto all = Read(JobOf(2), {Pod("a-x", "Running"), Pod("a-y", "Running", "node-2")});
  CHECK(all.phase == KubernetesPhase::kRunning);
  CHECK(all.pods == std::vector<std::string>{"a-x", "a-y"});
  CHECK(all.nodes == std::vector<std::string>{"node-1", "node-2"});
}

TEST_CASE("an allocation of which a worker has left by itself still runs") {
  const auto read = Read(JobOf(2), {Pod("a-x", "Running"), Pod("a-y", "Succeeded")});
  CHECK(read.phase == KubernetesPhase::kRunning);
  CHECK(read.pods.size() == 1);
}

TEST_CASE("why an allocation has failed") {
  const Json job = FailedJob(JobOf(1), "BackoffLimitExceeded");
  const auto reason = [&](const Json& status) {
    return Read(job, {With(Pod("a-x", "Failed"), status)}).reason;
  };
  CHECK(Read(job, {Pod("a-x", "Failed")}).phase == KubernetesPhase::kEnded);
  CHECK(reason({{"reason", "Evicted"}, {"message", "low on memory"}}) ==
        "pod a-x on node node-1 was evicted: low on memory");
  CHECK_THAT(reason({{"reason", "DeadlineExceeded"}}), Contains("reached its time limit"));
  CHECK_THAT(reason({{"reason", "NodeLost"}}), Contains("was lost with its node"));
  const auto disrupted = [&](const char* cause) {
    return reason(
        {{"conditions",
          Json::array({Json{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", cause}}})}});
  };
  CHECK_THAT(disrupted("PreemptionByScheduler"), Contains("was preempted"));
  CHECK_THAT(disrupted("DeletionByTaintManager"), Contains("was lost with its node"));
  CHECK_THAT(disrupted("EvictionByEvictionAPI"), Contains("was evicted (EvictionByEvictionAPI)"));
  CHECK_THAT(reason(ContainerIn({{"terminated", {{"exitCode", 3}, {"reason", "Error"}}}})),
             Contains("ended with exit code 3"));
  const Json last = {{"exitCode", 1}, {"message", "a\nb\nc\n"}};
  CHECK_THAT(reason(ContainerIn({{"terminated", last}})), Catch::EndsWith("ended with exit code 1: b / c"));
  CHECK_THAT(reason(ContainerIn({{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}}}})),
             Contains("more memory than its limit"));
  CHECK(Read(FailedJob(JobOf(1), "DeadlineExceeded"), {}).reason == "it reached its time limit");
}

TEST_CASE("a node that no longer answers is named") {
  const Json running = ContainerIn({{"running", {{"startedAt", "2026-11-25T16:08:47Z"}}}});
  Json pod = With(Pod("a-x", "Running"), running);
  pod["status"]["conditions"] = Json::array({Json{{"type", "Ready"}, {"status", "False"}}});
  const auto read = Read(JobOf(1), {pod});
  CHECK_THAT(read.reason, Contains("node node-1 of pod a-x does not answer"));
  CHECK(read.pods.empty());
}

TEST_CASE("an allocation that is removed exists until its pods are gone") {
  Json job = JobOf(1);
  job["metadata"]["deletionTimestamp"] = "2026-11-25T16:08:47Z";
  CHECK(Read(job, {Pod("a-x", "Running")}).phase == KubernetesPhase::kEnding);
  CHECK(Read(job, {}).phase == KubernetesPhase::kEnding);
  const auto orphaned = Read(nullptr, {Pod("a-x", "Running")});
  CHECK(orphaned.phase == KubernetesPhase::kEnding);
  CHECK(orphaned.reason == "its Job was removed");
  CHECK(Read(nullptr, {}).phase == KubernetesPhase::kEnded);
}

TEST_CASE("any JSON is an allocation's Job and pods") {
  for (const Json& odd :
       {Json(), Json(7), Json("a"), Json::array({1}), Json{{"status", 7}},
        Json{{"status", {{"conditions", {{"type", 7}}}}}}, Json{{"metadata", {{"name", 7}}}}}) {
    CHECK(Read(odd, {odd, odd}).name == "a");
  }
}

}  // namespace
}  // namespace winnow
