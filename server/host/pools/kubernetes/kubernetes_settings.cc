#include "server/host/pools/kubernetes/kubernetes_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status_text.h"
#include "server/host/pools/fields.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostPatience = 86'400;

bool IsLabelName(const std::string& name) {
  return !name.empty() && name.size() <= 63 && name.front() != '-' && name.back() != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

}  // namespace

KubernetesPoolOptions ReadKubernetesSettings(const PoolSettings& settings, const PoolPlace& place,
                                             const Json& own, PoolProblems& problems) {
  KubernetesPoolOptions options;
  KubernetesPods& pods = options.pods;
  pods.pool = place.prefix;
  pods.grace_seconds = std::max<int64_t>(1, settings.grace.count());
  const Json object = own.is_null() ? Json::object() : own;
  Fields fields(object, "kubernetes", problems);
  options.access.kubeconfig = fields.Text("kubeconfig");
  options.access.context = fields.Text("context");
  pods.name_space = fields.Text("namespace");
  pods.image = fields.Text("image");
  pods.image_pull_policy = fields.Text("image_pull_policy");
  pods.image_pull_secrets = fields.Texts("image_pull_secrets");
  pods.service_account = fields.Text("service_account");
  pods.priority_class = fields.Text("priority_class");
  pods.queue = fields.Text("queue");
  pods.gpu_resource = fields.Text("gpu_resource", pods.gpu_resource);
  pods.node_selector = fields.TextMap("node_selector");
  pods.pod = fields.Object("pod");
  pods.container = fields.Object("container");
  options.lost_pod_after = std::chrono::seconds(fields.Int("lost_pod_seconds", 60, 0, kMostPatience));
  if (const Json tolerations = fields.Object("tolerations"); fields.Has("tolerations")) {
    const bool good =
        tolerations.is_array() && std::all_of(tolerations.begin(), tolerations.end(),
                                              [](const Json& each) { return each.is_object(); });
    if (good) pods.tolerations = tolerations;
    if (!good) fields.Problem("tolerations", "expected a list of objects");
  }
  for (Json* merged : {&pods.pod, &pods.container}) {
    if (merged->is_object()) continue;
    fields.Problem(merged == &pods.pod ? "pod" : "container", "expected an object");
    *merged = Json::object();
  }
  if (pods.pod.contains("containers"))
    fields.Problem("pod.containers",
                   "would replace the worker; expected its settings in kubernetes.container");
  fields.Done();
  if (pods.image.empty() && !pods.container.contains("image"))
    fields.Problem("image", "is absent; expected the name of an image that has winnow-worker");
  if (!pods.name_space.empty() && !IsLabelName(pods.name_space))
    fields.Problem("namespace", fmt::format("is \"{}\"; expected the name of a namespace", pods.name_space));
  if (const std::string& policy = pods.image_pull_policy;
      !policy.empty() && policy != "Always" && policy != "IfNotPresent" && policy != "Never") {
    fields.Problem("image_pull_policy",
                   fmt::format("is \"{}\"; expected Always, IfNotPresent or Never", policy));
  }
  if (options.access.kubeconfig.empty() && !options.access.context.empty())
    fields.Problem("context", "stands without a kubeconfig; expected kubernetes.kubeconfig beside it");
  return options;
}

std::unique_ptr<Pool> MakeKubernetesPool(const PoolSettings& settings, const PoolPlace& place,
                                         const Json& own, PoolProblems& problems) {
  const size_t before = problems.size();
  KubernetesPoolOptions options = ReadKubernetesSettings(settings, place, own, problems);
  if (problems.size() > before) return nullptr;
  absl::StatusOr<std::unique_ptr<KubernetesPool>> pool = KubernetesPool::Start(std::move(options));
  if (pool.ok()) return *std::move(pool);
  problems.push_back("kubernetes.kubeconfig: " + MessageOf(pool.status()));
  return nullptr;
}

}  // namespace winnow
