#include "server/host/pools/kubernetes/kubernetes_settings.h"

#include "tests/catch.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using Json = nlohmann::json;

PoolProblems ProblemsOf(const Json& own) {
  PoolProblems problems;
  ReadKubernetesSettings({}, {.folder = "/", .prefix = "winnow-0a1b2c3d-gpu"}, own, problems);
  return problems;
}

TEST_CASE("the settings of a Kubernetes pool are read") {
  PoolProblems problems;
  PoolSettings settings;
  settings.grace = std::chrono::seconds(30);
  const KubernetesPoolOptions options = ReadKubernetesSettings(
      settings, {.folder = "/", .prefix = "winnow-0a1b2c3d-gpu"},
      Json::parse(R"({"kubeconfig": "/k", "context": "lab", "namespace": "tuning", "image": "i", "queue": "q",
                      "node_selector": {"a": "b"}, "tolerations": [{"key": "x"}], 
                      "pod": {"hostIPC": true}, "service_account": "s"})"),
      problems);
  CHECK_THAT(problems, Equals(PoolProblems{}));
  CHECK(options.access.kubeconfig == "/k");
  CHECK(options.access.context == "lab");
  CHECK(options.pods.pool == "winnow-0a1b2c3d-gpu");
  CHECK(options.pods.name_space == "tuning");
  CHECK(options.pods.queue == "q");
  CHECK(options.pods.node_selector.at("a") == "b");
  CHECK(options.pods.grace_seconds == 30);
  CHECK(options.pods.pod == Json{{"hostIPC", true}});
}

TEST_CASE("each wrong setting is named with what was expected, all at once") {
  CHECK_THAT(ProblemsOf(nullptr),
             Equals(PoolProblems{"kubernetes.image: is absent; expected the name of an image that "
                                 "has winnow-worker"}));
  const PoolProblems problems = ProblemsOf(Json{{"image", 3},
                                                {"namespace", "Not A Name"},
                                                {"lost_pod_seconds", -1},
                                                {"node_selector", {{"a", 1}}},
                                                {"tolerations", "all"},
                                                {"pod", 7},
                                                {"context", "c"},
                                                {"image_pull_policy", "Sometimes"},
                                                {"imagen", "i"}});
  std::string all;
  for (const std::string& problem : problems) all += problem + "\n";
  for (const char* expected :
       {"kubernetes.image: is 3; expected a string",
        "kubernetes.node_selector: is {\"a\":1}; expected an object of strings",
        "kubernetes.lost_pod_seconds: is -1; expected", "kubernetes.tolerations: expected a list of objects",
        "kubernetes.pod: expected an object",
        "kubernetes.imagen: is not a field; expected one of container, context, ",
        "kubernetes.namespace: is \"Not A Name\"; expected the name of a namespace",
        "kubernetes.image_pull_policy: is \"Sometimes\"; expected Always, IfNotPresent or Never",
        "kubernetes.context: stands without a kubeconfig"}) {
    CHECK_THAT(all, Contains(expected));
  }
}

TEST_CASE("the worker's container cannot be replaced by others") {
  CHECK_THAT(
      ProblemsOf(Json{{"image", "i"}, {"pod", {{"containers", Json::array()}}}}),
      Equals(PoolProblems{"kubernetes.pod.containers: would replace the worker; expected its settings in "
                          "kubernetes.container"}));
}

TEST_CASE("an access that cannot be read is a problem of the configuration") {
  PoolProblems problems;
  CHECK(MakeKubernetesPool({}, {.folder = "/", .prefix = "p"},
                           Json{{"image", "i"}, {"kubeconfig", "/no/such/file"}}, problems) == nullptr);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0], Contains("kubernetes.kubeconfig: /no/such/file: cannot be read: No such file"));
}

}  // namespace
}  // namespace winnow
