#include "server/host/pools/kubernetes/job_manifest.h"

#include "tests/catch.h"

namespace winnow {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr JobAbilities kOld;
constexpr JobAbilities kNew{.indexed = true, .failure_policy = true, .replacement_policy = true};

KubernetesPods Pods() {
  KubernetesPods pods;
  pods.pool = "winnow-0a1b2c3d-gpu";
  pods.name_space = "tuning";
  pods.image = "winnow/worker:1";
  return pods;
}

AllocationRequest Request(int nodes) {
  AllocationRequest request;
  request.name = "winnow-0a1b2c3d-gpu-7";
  request.number = 7;
  request.nodes = nodes;
  request.shape = {.slots = 2, .cpus = 1.5, .memory_gib = 4, .gpus = 1, .labels = {}};
  request.time_limit = std::chrono::seconds(3600);
  request.command = {"winnow-worker",    "--name",        "winnow-0a1b2c3d-gpu-7.{node}",
                     "--token-file",     "{files}/token", "--work-dir",
                     "{scratch}/{node}", "--label",       "a=$(b)"};
  request.files = {{"token", "secret"}};
  return request;
}

const Json& WorkerOf(const Json& job) { return job["spec"]["template"]["spec"]["containers"][0]; }

TEST_CASE("an allocation is one Job of as many pods as nodes, each of which is tried once") {
  const Json job = JobManifest(Pods(), Request(3), kOld);
  CHECK(job["apiVersion"] == "batch/v1");
  CHECK(job["metadata"]["name"] == "winnow-0a1b2c3d-gpu-7");
  CHECK(job["metadata"]["namespace"] == "tuning");
  CHECK(job["metadata"]["labels"]["winnow/pool"] == "winnow-0a1b2c3d-gpu");
  CHECK(job["spec"]["parallelism"] == 3);
  CHECK(job["spec"]["completions"] == 3);
  CHECK(job["spec"]["backoffLimit"] == 0);
  const Json& pod = job["spec"]["template"]["spec"];
  CHECK(job["spec"]["template"]["metadata"]["labels"]["winnow/allocation"] == "winnow-0a1b2c3d-gpu-7");
  CHECK(pod["restartPolicy"] == "Never");
  CHECK(pod["activeDeadlineSeconds"] == 3600);
  CHECK(pod["terminationGracePeriodSeconds"] == 120);
  CHECK(pod["automountServiceAccountToken"] == false);
  CHECK(pod["securityContext"]["runAsNonRoot"] == true);
  const Json amounts = {{"cpu", "1500m"}, {"memory", "4096Mi"}, {"nvidia.com/gpu", "1"}};
  CHECK(WorkerOf(job)["resources"] == Json{{"requests", amounts}, {"limits", amounts}});
  CHECK(WorkerOf(job)["securityContext"]["allowPrivilegeEscalation"] == false);
  CHECK(WorkerOf(job)["terminationMessagePolicy"] == "FallbackToLogsOnError");
}

TEST_CASE("the secret is a file of the pods and nowhere in the Job") {
  const Json job = JobManifest(Pods(), Request(1), kOld);
  CHECK(job.dump().find("secret\"") != std::string::npos);  // the volume
  CHECK(job.dump().find("\"secret\":\"secret\"") == std::string::npos);
  CHECK(job["spec"]["template"]["spec"]["volumes"][1]["secret"]["secretName"] == "winnow-0a1b2c3d-gpu-7");
  CHECK(WorkerOf(job)["volumeMounts"][1]["mountPath"] == "/var/run/winnow");
  const Json secret = SecretManifest(Pods(), Request(1), "uid");
  CHECK(secret["stringData"] == Json{{"token", "secret"}});
  CHECK(secret["metadata"]["ownerReferences"][0]["uid"] == "uid");
  CHECK_FALSE(SecretManifest(Pods(), Request(1), "")["metadata"].contains("ownerReferences"));
}

TEST_CASE("the worker has its pod's name, and folders of the pod, and other text of its arguments is kept") {
  CHECK(WorkerOf(JobManifest(Pods(), Request(1), kOld))["command"] ==
        Words{"winnow-worker", "--name", "$(WINNOW_POD)", "--token-file", "/var/run/winnow/token",
              "--work-dir", "/var/lib/winnow/0", "--label", "a=$$(b)"});
  CHECK(WorkerOf(JobManifest(Pods(), Request(3), kOld))["command"][6] == "/var/lib/winnow/$(WINNOW_POD)");
  CHECK(WorkerOf(JobManifest(Pods(), Request(3), kNew))["command"][6] ==
        "/var/lib/winnow/$(JOB_COMPLETION_INDEX)");
}

TEST_CASE("what a server does not have is not sent to it") {
  const Json old = JobManifest(Pods(), Request(3), kOld)["spec"];
  for (const char* field : {"completionMode", "podFailurePolicy", "podReplacementPolicy", "suspend"})
    CHECK_FALSE(old.contains(field));
  const Json spec = JobManifest(Pods(), Request(3), kNew)["spec"];
  CHECK(spec["completionMode"] == "Indexed");
  CHECK(spec["podReplacementPolicy"] == "Failed");
  CHECK(spec["podFailurePolicy"]["rules"][0]["action"] == "Ignore");
  CHECK(spec["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["type"] == "DisruptionTarget");
}

TEST_CASE("what a server has is known by its version") {
  const auto of = [](const char* major, const char* minor) {
    return AbilitiesOf(Json{{"major", major}, {"minor", minor}});
  };
  CHECK(of("1", "20") == kOld);
  CHECK(of("1", "24+") == JobAbilities{.indexed = true});
  CHECK(of("1", "27") == JobAbilities{.indexed = true, .failure_policy = true});
  CHECK(of("1", "34") == kNew);
  CHECK(of("2", "0") == kNew);
  CHECK(of("", "") == kOld);
  CHECK(AbilitiesOf(Json(7)) == kOld);
}

TEST_CASE("with a queue the Job is Kueue's to begin") {
  KubernetesPods pods = Pods();
  pods.queue = "team";
  const Json job = JobManifest(pods, Request(2), kOld);
  CHECK(job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team");
  CHECK(job["spec"]["suspend"] == true);
}

TEST_CASE("what the configuration says of pods is in them, and is merged last") {
  KubernetesPods pods = Pods();
  pods.node_selector = {{"gpu", "a100"}};
  pods.tolerations = Json::array({Json{{"key", "gpu"}, {"operator", "Exists"}}});
  pods.service_account = "pilot";
  pods.image_pull_secrets = {"registry"};
  pods.pod = {{"hostIPC", true}, {"securityContext", nullptr}};
  pods.container = {{"image", "mine"}, {"workingDir", "/data"}};
  const Json job = JobManifest(pods, Request(1), kOld);
  const Json& pod = job["spec"]["template"]["spec"];
  CHECK(pod["nodeSelector"] == Json{{"gpu", "a100"}});
  CHECK(pod["tolerations"].size() == 3);
  CHECK(pod["tolerations"][0]["key"] == "gpu");
  CHECK(pod["serviceAccountName"] == "pilot");
  CHECK(pod["imagePullSecrets"][0]["name"] == "registry");
  CHECK(pod["hostIPC"] == true);
  CHECK_FALSE(pod.contains("securityContext"));
  CHECK(WorkerOf(job)["image"] == "mine");
  CHECK(WorkerOf(job)["workingDir"] == "/data");
}

TEST_CASE("volumes, mounts and variables of the configuration are beside those that a worker needs") {
  KubernetesPods pods = Pods();
  const Json data = {{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data"}}}};
  const Json scratch = {{"name", "scratch"}, {"emptyDir", {{"sizeLimit", "9Gi"}}}};
  const Json mount = {{"name", "data"}, {"mountPath", "/data"}};
  const Json variable = {{"name", "NCCL_DEBUG"}, {"value", "WARN"}};
  pods.pod = {{"volumes", Json::array({data, scratch})}};
  pods.container = {{"volumeMounts", Json::array({mount})}, {"env", Json::array({variable})}};
  const Json job = JobManifest(pods, Request(1), kOld);
  const Json& volumes = job["spec"]["template"]["spec"]["volumes"];
  REQUIRE(volumes.size() == 3);
  CHECK(volumes[0]["name"] == "files");
  CHECK(volumes[1] == data);
  CHECK(volumes[2] == scratch);
  const Json& mounts = WorkerOf(job)["volumeMounts"];
  REQUIRE(mounts.size() == 3);
  CHECK(mounts[1]["name"] == "files");
  CHECK(mounts[2] == mount);
  const Json& variables = WorkerOf(job)["env"];
  REQUIRE(variables.size() == 3);
  CHECK(variables[0]["name"] == "WINNOW_POD");
  CHECK(variables[2] == variable);
}

}  // namespace
}  // namespace winnow
