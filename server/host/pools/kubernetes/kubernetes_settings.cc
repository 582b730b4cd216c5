#include "server/host/pools/kubernetes/kubernetes_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/status_text.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostGrace = 86'400;

// Takes the fields of an object one by one, and tells of those that nobody has taken.
class KubernetesFields {
 public:
  KubernetesFields(const Json& object, PoolProblems& problems) : object_(object), problems_(problems) {}

  void Wrong(const std::string& field, const std::string& what, const std::string& expected) {
    problems_.push_back(fmt::format("kubernetes.{}: {}; expected {}", field, what, expected));
  }

  // The value; null if it is absent or `fits` is false, which is a problem.
  template <class Fits>
  const Json* Take(const std::string& field, const Fits& fits, const char* expected) {
    taken_.insert(field);
    const auto found = object_.find(field);
    if (found == object_.end()) return nullptr;
    if (fits(*found)) return &*found;
    Wrong(field, "is " + Shown(*found), expected);
    return nullptr;
  }

  void Text(const std::string& field, std::string* to, const char* expected = "a string that is not empty") {
    const auto fits = [](const Json& value) {
      return value.is_string() && !value.get_ref<const std::string&>().empty();
    };
    if (const Json* value = Take(field, fits, expected)) *to = value->get<std::string>();
  }

  void Texts(const std::string& field, std::vector<std::string>* to) {
    const auto fits = [](const Json& value) { return value.is_array() && AllTexts(value); };
    if (const Json* value = Take(field, fits, "a list of strings"))
      *to = value->get<std::vector<std::string>>();
  }

  void TextMap(const std::string& field, std::map<std::string, std::string>* to) {
    const auto fits = [](const Json& value) { return value.is_object() && AllTexts(value); };
    if (const Json* value = Take(field, fits, "an object of strings"))
      *to = value->get<std::map<std::string, std::string>>();
  }

  void Objects(const std::string& field, Json* to) {
    const auto fits = [](const Json& value) {
      return value.is_array() &&
             std::all_of(value.begin(), value.end(), [](const Json& each) { return each.is_object(); });
    };
    if (const Json* value = Take(field, fits, "a list of objects")) *to = *value;
  }

  void Object(const std::string& field, Json* to) {
    const auto fits = [](const Json& value) { return value.is_object(); };
    if (const Json* value = Take(field, fits, "an object")) *to = *value;
  }

  void Finish() {
    for (const auto& [field, value] : object_.items()) {
      if (!taken_.contains(field))
        Wrong(field, "is unknown", fmt::format("one of {}", fmt::join(taken_, ", ")));
    }
  }

 private:
  static bool AllTexts(const Json& values) {
    return std::all_of(values.begin(), values.end(), [](const Json& each) { return each.is_string(); });
  }
  static std::string Shown(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
  }

  const Json& object_;
  PoolProblems& problems_;
  std::set<std::string> taken_;
};

bool IsLabelName(const std::string& name) {
  return !name.empty() && name.size() <= 63 && name.front() != '-' && name.back() != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

}  // namespace

KubernetesPoolOptions ReadKubernetesSettings(const PoolPlace& place, const Json& own,
                                             PoolProblems& problems) {
  KubernetesPoolOptions options;
  KubernetesPods& pods = options.pods;
  pods.pool = place.prefix;
  const Json empty = Json::object();
  if (!own.is_object() && !own.is_null()) problems.push_back("kubernetes: expected an object");
  KubernetesFields fields(own.is_object() ? own : empty, problems);
  fields.Text("kubeconfig", &options.access.kubeconfig, "the name of a file");
  fields.Text("context", &options.access.context);
  fields.Text("namespace", &pods.name_space);
  fields.Text("image", &pods.image, "the name of an image");
  fields.Text("image_pull_policy", &pods.image_pull_policy);
  fields.Texts("image_pull_secrets", &pods.image_pull_secrets);
  fields.Text("service_account", &pods.service_account);
  fields.Text("priority_class", &pods.priority_class);
  fields.Text("queue", &pods.queue, "the name of a LocalQueue of Kueue");
  fields.Text("gpu_resource", &pods.gpu_resource, "the name of a resource, such as nvidia.com/gpu");
  fields.TextMap("node_selector", &pods.node_selector);
  fields.Objects("tolerations", &pods.tolerations);
  fields.Object("pod", &pods.pod);
  fields.Object("container", &pods.container);
  fields.Texts("program", &pods.program);
  const auto is_grace = [](const Json& value) {
    return value.is_number_integer() && value.get<int64_t>() >= 1 && value.get<int64_t>() <= kMostGrace;
  };
  if (const Json* grace = fields.Take("grace_seconds", is_grace, "a whole number from 1 to 86400"))
    pods.grace_seconds = grace->get<int64_t>();
  const auto is_patience = [](const Json& value) {
    return value.is_number_integer() && value.get<int64_t>() >= 0 && value.get<int64_t>() <= kMostGrace;
  };
  if (const Json* lost = fields.Take("lost_pod_seconds", is_patience, "a whole number from 0 to 86400"))
    options.lost_pod_after = std::chrono::seconds(lost->get<int64_t>());
  fields.Finish();
  const bool image_named = pods.container.contains("image") || (own.is_object() && own.contains("image"));
  if (!image_named) fields.Wrong("image", "is absent", "the name of an image that has winnow-worker");
  if (!pods.name_space.empty() && !IsLabelName(pods.name_space))
    fields.Wrong("namespace", fmt::format("is \"{}\"", pods.name_space), "the name of a namespace");
  if (const std::string& policy = pods.image_pull_policy;
      !policy.empty() && policy != "Always" && policy != "IfNotPresent" && policy != "Never") {
    fields.Wrong("image_pull_policy", fmt::format("is \"{}\"", policy), "Always, IfNotPresent or Never");
  }
  if (options.access.kubeconfig.empty() && !options.access.context.empty())
    fields.Wrong("context", "stands without a kubeconfig", "kubernetes.kubeconfig beside it");
  return options;
}

std::unique_ptr<Pool> MakeKubernetesPool(const PoolSettings&, const PoolPlace& place, const Json& own,
                                         PoolProblems& problems) {
  const size_t before = problems.size();
  KubernetesPoolOptions options = ReadKubernetesSettings(place, own, problems);
  if (problems.size() > before) return nullptr;
  absl::StatusOr<std::unique_ptr<KubernetesPool>> pool = KubernetesPool::Start(std::move(options));
  if (pool.ok()) return *std::move(pool);
  problems.push_back("kubernetes.kubeconfig: " + MessageOf(pool.status()));
  return nullptr;
}

}  // namespace winnow
