#include "server/host/pools/kubernetes/job_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "server/host/pools/kubernetes/api_client.h"
#include "server/host/pools/kubernetes/fields.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr int64_t kKeptSeconds = 3600;       // how long an ended Job can be looked at
constexpr int64_t kUnreachableSeconds = 30;  // until the pods of a node that does not answer are given up
constexpr int64_t kUser = 10001;             // "winnow" of Winnow's images
constexpr const char* kFilesFolder = "/var/run/winnow";
constexpr const char* kScratchFolder = "/var/lib/winnow";

// The number at the front of "27+"; 0: none.
int LeadingNumber(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Json LabelsOf(const KubernetesPods& pods, const AllocationRequest& request) {
  return {{"app.kubernetes.io/name", "winnow-worker"},
          {"app.kubernetes.io/managed-by", "winnow"},
          {kObjectPoolLabel, pods.pool},
          {kObjectAllocationLabel, request.name}};
}

Json Resources(const KubernetesPods& pods, const WorkerShape& worker) {
  Json amounts = Json::object();
  if (worker.cpus > 0) amounts["cpu"] = fmt::format("{}m", std::llround(std::ceil(worker.cpus * 1000)));
  if (worker.memory_gib > 0)
    amounts["memory"] = fmt::format("{}Mi", std::llround(std::ceil(worker.memory_gib * 1024)));
  if (worker.gpus > 0) amounts[pods.gpu_resource] = std::to_string(worker.gpus);
  return {{"requests", amounts}, {"limits", amounts}};
}

// Replaces all of them.
std::string Replaced(std::string text, const std::string& old, const std::string& by) {
  for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + by.size()))
    text.replace(at, old.size(), by);
  return text;
}

// The command with its placeholders as Kubernetes replaces them; a "$(" that stands there already is kept.
std::vector<std::string> CommandOf(const AllocationRequest& request, const JobAbilities& abilities) {
  const std::string index = request.nodes == 1  ? "0"
                            : abilities.indexed ? "$(JOB_COMPLETION_INDEX)"
                                                : "$(WINNOW_POD)";
  std::vector<std::string> command;
  for (std::string word : request.command) {
    word = Replaced(word, "$(", "$$(");
    word = Replaced(word, request.name + ".{node}", "$(WINNOW_POD)");
    word = Replaced(word, "{node}", index);
    word = Replaced(word, "{files}", kFilesFolder);
    command.push_back(Replaced(word, "{scratch}", kScratchFolder));
  }
  return command;
}

struct KeyedList {
  const char* list;
  const char* key;
};

// Merges what the configuration says into an object. Entries of these lists are added: without the own ones,
// such as the volume with the token, no worker could join. One with the same key takes the place of an own
// one.
void Merge(Json& object, const Json& patch, std::initializer_list<KeyedList> lists) {
  const Json own = object;
  object.merge_patch(patch);
  for (const KeyedList& each : lists) {
    const Json& added = FieldAt(patch, each.list);
    if (!added.is_array()) continue;
    Json all = Json::array();
    for (const Json& entry : FieldAt(own, each.list)) {
      const bool replaced = std::any_of(added.begin(), added.end(), [&](const Json& other) {
        return TextAt(other, each.key) == TextAt(entry, each.key);
      });
      if (!replaced) all.push_back(entry);
    }
    all.insert(all.end(), added.begin(), added.end());
    object[each.list] = std::move(all);
  }
}

Json FieldVariable(const char* name, const char* path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

Json WorkerContainer(const KubernetesPods& pods, const AllocationRequest& request,
                     const JobAbilities& abilities) {
  Json container = {
      {"name", "worker"},
      {"image", pods.image},
      {"command", CommandOf(request, abilities)},
      {"env", Json::array({FieldVariable("WINNOW_POD", "metadata.name"),
                           Json{{"name", "HOME"}, {"value", kScratchFolder}}})},
      {"resources", Resources(pods, request.shape)},
      {"volumeMounts", Json::array({Json{{"name", "scratch"}, {"mountPath", kScratchFolder}}})},
      {"terminationMessagePolicy", "FallbackToLogsOnError"},  // tells why it could not join
      {"securityContext",
       {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", Json::array({"ALL"})}}}}}};
  if (!pods.image_pull_policy.empty()) container["imagePullPolicy"] = pods.image_pull_policy;
  if (!request.files.empty()) {
    container["volumeMounts"].push_back(
        Json{{"name", "files"}, {"mountPath", kFilesFolder}, {"readOnly", true}});
  }
  Merge(container, pods.container, {{"volumeMounts", "mountPath"}, {"env", "name"}});
  return container;
}

Json Tolerations(const KubernetesPods& pods) {
  Json all = pods.tolerations.is_array() ? pods.tolerations : Json::array();
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    all.push_back(Json{{"key", taint},
                       {"operator", "Exists"},
                       {"effect", "NoExecute"},
                       {"tolerationSeconds", kUnreachableSeconds}});
  }
  return all;
}

Json PodSpec(const KubernetesPods& pods, const AllocationRequest& request, const JobAbilities& abilities) {
  Json spec = {{"restartPolicy", "Never"},
               {"automountServiceAccountToken", false},
               {"enableServiceLinks", false},
               {"terminationGracePeriodSeconds", pods.grace_seconds},
               {"tolerations", Tolerations(pods)},
               {"securityContext",
                {{"runAsNonRoot", true},
                 {"runAsUser", kUser},
                 {"runAsGroup", kUser},
                 {"fsGroup", kUser},
                 {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
               {"volumes", Json::array({Json{{"name", "scratch"}, {"emptyDir", Json::object()}}})},
               {"containers", Json::array({WorkerContainer(pods, request, abilities)})}};
  if (!request.files.empty()) {
    spec["volumes"].push_back(
        Json{{"name", "files"}, {"secret", {{"secretName", request.name}, {"defaultMode", 0440}}}});
  }
  if (request.time_limit.count() > 0) spec["activeDeadlineSeconds"] = request.time_limit.count();
  if (!pods.service_account.empty()) spec["serviceAccountName"] = pods.service_account;
  if (!pods.priority_class.empty()) spec["priorityClassName"] = pods.priority_class;
  if (!pods.node_selector.empty()) spec["nodeSelector"] = pods.node_selector;
  for (const std::string& secret : pods.image_pull_secrets)
    spec["imagePullSecrets"].push_back(Json{{"name", secret}});
  Merge(spec, pods.pod, {{"volumes", "name"}});
  return spec;
}

}  // namespace

JobAbilities AbilitiesOf(const Json& version) {
  const int major = LeadingNumber(TextAt(version, "major"));
  const int minor = LeadingNumber(TextAt(version, "minor"));
  const auto since = [&](int first) { return major > 1 || (major == 1 && minor >= first); };
  return {.indexed = since(24), .failure_policy = since(26), .replacement_policy = since(29)};
}

Json JobManifest(const KubernetesPods& pods, const AllocationRequest& request,
                 const JobAbilities& abilities) {
  const Json labels = LabelsOf(pods, request);
  Json job = {
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", {{"name", request.name}, {"namespace", pods.name_space}, {"labels", labels}}},
      {"spec",
       {{"parallelism", request.nodes},
        {"completions", request.nodes},
        {"backoffLimit", 0},
        {"ttlSecondsAfterFinished", kKeptSeconds},
        {"template", {{"metadata", {{"labels", labels}}}, {"spec", PodSpec(pods, request, abilities)}}}}}};
  Json& spec = job["spec"];
  if (abilities.indexed) spec["completionMode"] = "Indexed";
  if (abilities.failure_policy) {
    // A pod that the cluster takes away is no failure: another worker comes in its place.
    spec["podFailurePolicy"]["rules"] = Json::array(
        {Json{{"action", "Ignore"},
              {"onPodConditions", Json::array({Json{{"type", "DisruptionTarget"}, {"status", "True"}}})}}});
  }
  if (abilities.replacement_policy) spec["podReplacementPolicy"] = "Failed";
  if (!pods.queue.empty()) {
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = pods.queue;
    spec["suspend"] = true;
  }
  return job;
}

Json SecretManifest(const KubernetesPods& pods, const AllocationRequest& request,
                    const std::string& job_uid) {
  Json secret = {
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"type", "Opaque"},
      {"metadata",
       {{"name", request.name}, {"namespace", pods.name_space}, {"labels", LabelsOf(pods, request)}}},
      {"stringData", request.files}};
  if (!job_uid.empty()) {
    secret["metadata"]["ownerReferences"] = Json::array(
        {Json{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", request.name}, {"uid", job_uid}}});
  }
  return secret;
}

std::string SelectorQuery(const KubernetesPods& pods) {
  return "labelSelector=" + QueryValue(fmt::format("{}={}", kObjectPoolLabel, pods.pool));
}

}  // namespace winnow
