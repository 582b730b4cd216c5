#include "server/host/pools/kubernetes/access.h"

#include <cstdlib>
#include <fstream>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;

constexpr char kTwoContexts[] = R"(
apiVersion: v1
kind: Config
clusters:
- name: lab
  cluster: {server: "https://lab:6443/", certificate-authority-data: Q0E=}
- name: home
  cluster: {server: "https://[::1]:6443", certificate-authority: ca.pem}
users:
- name: token
  user: {tokenFile: token}
- name: certificate
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
contexts:
- name: one
  context: {cluster: lab, user: certificate}
- name: two
  context: {cluster: home, user: token, namespace: tuning}
current-context: one
)";

struct Kubeconfig {
  TempFolder folder;
  absl::StatusOr<KubernetesAccess> Read(const std::string& text, const std::string& context = "") {
    std::ofstream(folder / "config") << text;
    return ReadKubernetesAccess({.kubeconfig = folder / "config", .context = context});
  }
};

TEST_CASE("a kubeconfig's current context gives server, authorities and the client's certificate") {
  Kubeconfig config;
  const auto access = config.Read(kTwoContexts);
  REQUIRE(access.ok());
  CHECK(*access == KubernetesAccess{.server = "https://lab:6443",
                                    .authorities = "CA",
                                    .verify = true,
                                    .proxy = "",
                                    .certificate = "CERT",
                                    .key = "KEY",
                                    .token = "",
                                    .name_space = "default"});
}

TEST_CASE("another context of a kubeconfig, and files beside it") {
  Kubeconfig config;
  std::ofstream(config.folder / "ca.pem") << "PEM";
  std::ofstream(config.folder / "token") << "secret\n";
  const auto access = config.Read(kTwoContexts, "two");
  REQUIRE(access.ok());
  CHECK(access->server == "https://[::1]:6443");
  CHECK(access->authorities == "PEM");
  CHECK(access->token == "secret");
  CHECK(access->name_space == "tuning");
}

TEST_CASE("what is wrong in a kubeconfig is named with its field") {
  Kubeconfig config;
  const auto error = [&](const std::string& text, const std::string& context = "") {
    return MessageOf(config.Read(text, context).status());
  };
  const std::string user = "users: [{name: me, user: ";
  const std::string rest =
      "}]\nclusters: [{name: c, cluster: {server: 'https://c'}}]\n"
      "contexts: [{name: x, context: {cluster: c, user: me}}]\ncurrent-context: x\n";
  CHECK_THAT(error("a: [b"), Contains("expected YAML"));
  CHECK_THAT(error("- a"), Contains("expected a kubeconfig"));
  CHECK_THAT(error("a: b"), Contains("current-context: expected the name of a context"));
  CHECK_THAT(error(kTwoContexts, "three"), Contains("contexts: \"three\" is not among them"));
  CHECK_THAT(error(kTwoContexts, "two"), Contains("clusters[home].cluster.certificate-authority: ") &&
                                             Contains("ca.pem: cannot be read"));
  CHECK_THAT(error(user + "{exec: {command: aws}}" + rest), Contains("users[me].user.exec is not supported"));
  CHECK_THAT(error(user + "{client-key-data: S0VZ}" + rest),
             Contains("expected both client-certificate and client-key"));
  CHECK_THAT(error(user + "{client-key-data: '%'}" + rest),
             Contains("users[me].user.client-key-data: expected base64"));
  CHECK_THAT(error(user + "{token: 'a b'}" + rest), Contains("users[me].user.token: expected a token"));
  CHECK(error(user + "{token: a}" + rest).empty());
}

TEST_CASE("a pod's access is its service account's files") {
  TempFolder folder;
  const KubernetesAccessSource source{.account_folder = folder.path()};
  unsetenv("KUBERNETES_SERVICE_HOST");
  CHECK_THAT(MessageOf(ReadKubernetesAccess(source).status()), Contains("KUBERNETES_SERVICE_HOST"));
  setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  CHECK_THAT(MessageOf(ReadKubernetesAccess(source).status()), Contains("token: cannot be read"));
  std::ofstream(folder / "token") << "first";
  std::ofstream(folder / "ca.crt") << "PEM";
  std::ofstream(folder / "namespace") << "tuning";
  const auto access = ReadKubernetesAccess(source);
  unsetenv("KUBERNETES_SERVICE_HOST");
  unsetenv("KUBERNETES_SERVICE_PORT");
  REQUIRE(access.ok());
  CHECK(access->server == "https://10.0.0.1:443");
  CHECK(access->token == "first");
  CHECK(access->authorities == "PEM");
  CHECK(access->name_space == "tuning");
}

}  // namespace
}  // namespace winnow
