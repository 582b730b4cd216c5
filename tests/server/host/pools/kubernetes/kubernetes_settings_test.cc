#include "server/host/pools/kubernetes/kubernetes_settings.h"

#include "tests/catch.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;
using Json = nlohmann::json;

PoolProblems ProblemsOf(const Json& own) {
  PoolProblems problems;
  ReadKubernetesSettings({.folder = "/", .prefix = "winnow-0a1b2c3d-gpu"}, own, problems);
  return problems;
}

TEST_CASE("the settings of a Kubernetes pool are read") {
  PoolProblems problems;
  const KubernetesPoolOptions options = ReadKubernetesSettings(
      {.folder = "/", .prefix = "winnow-0a1b2c3d-gpu"},
      Json::parse(R"({"kubeconfig": "/k", "context": "lab", "namespace": "tuning", "image": "i", "queue": "q",
                      "node_selector": {"a": "b"}, "tolerations": [{"key": "x"}], "grace_seconds": 30,
                      "program": ["p"], "pod": {"hostIPC": true}, "service_account": "s"})"),
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

TEST_CASE("each wrong setting is named with its value and what was expected, all at once") {
  CHECK_THAT(ProblemsOf(nullptr),
             Equals(PoolProblems{"kubernetes.image: is absent; expected the name of an image that "
                                 "has winnow-worker"}));
  const PoolProblems problems = ProblemsOf(Json{{"image", 3},
                                                {"namespace", "Not A Name"},
                                                {"grace_seconds", 0},
                                                {"node_selector", {{"a", 1}}},
                                                {"tolerations", "all"},
                                                {"context", "c"},
                                                {"image_pull_policy", "Sometimes"},
                                                {"imagen", "i"}});
  REQUIRE(problems.size() == 8);
  CHECK(problems[0] == "kubernetes.image: is 3; expected the name of an image");
  CHECK(problems[1] == "kubernetes.node_selector: is {\"a\":1}; expected an object of strings");
  CHECK(problems[2] == "kubernetes.tolerations: is \"all\"; expected a list of objects");
  CHECK(problems[3] == "kubernetes.grace_seconds: is 0; expected a whole number from 1 to 86400");
  CHECK_THAT(problems[4], Contains("kubernetes.imagen: is unknown; expected one of container, context, "));
  CHECK(problems[5] == "kubernetes.namespace: is \"Not A Name\"; expected the name of a namespace");
  CHECK_THAT(problems[6], Contains("kubernetes.image_pull_policy: is \"Sometimes\"; expected Always"));
  CHECK_THAT(problems[7], Contains("kubernetes.context: stands without a kubeconfig"));
}

TEST_CASE("an access that cannot be read is a problem of the configuration") {
  PoolProblems problems;
  CHECK(MakeKubernetesPool({}, {.folder = "/", .prefix = "p"},
                           Json{{"image", "i"}, {"kubeconfig", "/no/such/file"}}, problems) == nullptr);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0], Contains("kubernetes.kubeconfig: /no/such/file: cannot be read"));
}

}  // namespace
}  // namespace winnow
