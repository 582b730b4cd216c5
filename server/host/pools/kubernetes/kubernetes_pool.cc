#include "server/host/pools/kubernetes/kubernetes_pool.h"

#include <fmt/format.h>

#include <utility>

#include "base/status_text.h"
#include "server/host/pools/kubernetes/allocation_state.h"
#include "server/host/pools/kubernetes/fields.h"

namespace winnow {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Within which the API server must have answered the first time.
constexpr milliseconds kFirstList{20'000};
constexpr seconds kLongestCancel{40};

bool IsBeingRemoved(const Json& object) { return !TextAt(object, "metadata", "deletionTimestamp").empty(); }

bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsPermissionDenied(status) || absl::IsNotFound(status) ||
         absl::IsResourceExhausted(status);
}

// The statuses of Pool. What may work another time, such as a token that is replaced, is UNAVAILABLE.
absl::Status StatusOfPool(const absl::Status& status) {
  // ResourceQuota answers 403 as what may never be done does.
  if (absl::IsPermissionDenied(status) && MessageOf(status).find("exceeded quota") != std::string::npos)
    return absl::ResourceExhaustedError(status.message());
  if (status.ok() || IsRefusal(status) || absl::IsAlreadyExists(status)) return status;
  return absl::UnavailableError(status.message());
}

Allocation::State StateOf(const KubernetesAllocation& allocation) {
  switch (allocation.phase) {
    case KubernetesPhase::kQueued:
      return Allocation::State::kQueued;
    case KubernetesPhase::kStarting:
    case KubernetesPhase::kRunning:
    case KubernetesPhase::kEnding:
      return Allocation::State::kRunning;
    case KubernetesPhase::kEnded:
      return Allocation::State::kEnded;
  }
  return Allocation::State::kQueued;
}

}  // namespace

KubernetesPool::KubernetesPool(KubernetesPoolOptions options)
    : options_(std::move(options)), client_(options_.access, options_.times) {}

absl::StatusOr<std::unique_ptr<KubernetesPool>> KubernetesPool::Start(KubernetesPoolOptions options) {
  std::unique_ptr<KubernetesPool> pool(new KubernetesPool(std::move(options)));
  absl::StatusOr<std::string> name_space = pool->client_.NameSpace();
  if (!name_space.ok()) return name_space.status();
  KubernetesPods& pods = pool->options_.pods;
  if (pods.name_space.empty()) pods.name_space = *std::move(name_space);
  return pool;
}

KubernetesPool::~KubernetesPool() { client_.Stop(); }

void KubernetesPool::Follow() {
  if (jobs_ != nullptr) return;
  const std::string query = SelectorQuery(options_.pods);
  jobs_ = std::make_unique<WatchedList>(client_,
                                        WatchedList::Options{Collection("apis/batch/v1", "jobs"), query});
  pods_ = std::make_unique<WatchedList>(client_, WatchedList::Options{Collection("api/v1", "pods"), query});
}

std::string KubernetesPool::Collection(const char* group, const char* kind) const {
  return fmt::format("/{}/namespaces/{}/{}", group, options_.pods.name_space, kind);
}

absl::StatusOr<JobAbilities> KubernetesPool::Abilities() {
  if (knows_abilities_) return abilities_;
  const absl::StatusOr<Json> version = client_.Get("/version");
  if (!version.ok()) return version.status();
  knows_abilities_ = true;
  abilities_ = AbilitiesOf(*version);
  return abilities_;
}

absl::Status KubernetesPool::WriteSecret(const AllocationRequest& request, const std::string& job_uid) {
  const std::string collection = Collection("api/v1", "secrets");
  const Json secret = SecretManifest(options_.pods, request, job_uid);
  if (job_uid.empty()) {
    const absl::Status status = client_.Create(collection, secret).status();
    if (!absl::IsAlreadyExists(status)) return status;
  }
  return client_.Replace(collection + "/" + request.name, secret).status();
}

absl::StatusOr<std::string> KubernetesPool::SubmitOne(const AllocationRequest& request) {
  Follow();
  const absl::StatusOr<JobAbilities> abilities = Abilities();
  if (!abilities.ok()) return abilities.status();
  // The Secret comes first, so that no pod waits for one that a crash has prevented.
  if (!request.files.empty()) {
    if (absl::Status status = WriteSecret(request, ""); !status.ok()) return status;
  }
  const absl::StatusOr<Json> job =
      client_.Create(Collection("apis/batch/v1", "jobs"), JobManifest(options_.pods, request, *abilities));
  if (IsRefusal(job.status()) && !request.files.empty())
    client_.Delete(Collection("api/v1", "secrets") + "/" + request.name, Json::object()).IgnoreError();
  if (!job.ok()) return job.status();
  jobs_->Put(*job);
  const std::string uid = TextAt(*job, "metadata", "uid");
  // From now on it goes with the Job. Where this fails, Cancel and Forget remove it.
  if (!request.files.empty()) WriteSecret(request, uid).IgnoreError();
  return uid;
}

absl::StatusOr<std::vector<std::string>> KubernetesPool::Submit(const std::vector<AllocationRequest>& batch) {
  if (batch.size() != 1) return absl::InvalidArgumentError("expected one allocation");
  absl::StatusOr<std::string> id = SubmitOne(batch.front());
  if (!id.ok()) return StatusOfPool(id.status());
  return std::vector<std::string>{*std::move(id)};
}

std::string KubernetesPool::TroubleOf(const Json& job) {
  const std::string uid = TextAt(job, "metadata", "uid");
  const auto now = steady_clock::now();
  const auto known = troubles_.find(uid);
  if (known != troubles_.end() && now - known->second.asked < options_.events_age) return known->second.words;
  const absl::StatusOr<ApiList> events =
      client_.List(Collection("api/v1", "events"),
                   "fieldSelector=" + QueryValue(fmt::format("involvedObject.uid={},type=Warning", uid)));
  Trouble trouble{now, ""};
  std::string newest;
  if (events.ok()) {
    for (const Json& event : events->items) {
      const std::string when = TextAt(event, "lastTimestamp");
      if (when < newest) continue;
      newest = when;
      trouble.words = TextAt(event, "message");
    }
  }
  troubles_[uid] = trouble;
  return trouble.words;
}

void KubernetesPool::RemoveLostPods(const std::vector<Json>& pods) {
  const auto now = steady_clock::now();
  std::vector<std::string> lost;
  std::map<std::string, steady_clock::time_point> leaving;
  for (const Json& pod : pods) {
    if (!IsBeingRemoved(pod)) continue;
    const std::string uid = TextAt(pod, "metadata", "uid");
    const auto known = leaving_.find(uid);
    const auto since = known == leaving_.end() ? now : known->second;
    leaving[uid] = since;
    const seconds grace(NumberAt(pod, "metadata", "deletionGracePeriodSeconds"));
    if (now - since >= grace + options_.lost_pod_after) lost.push_back(TextAt(pod, "metadata", "name"));
  }
  leaving_ = std::move(leaving);
  // Its node no longer answers. What may still run there is fenced by its assignment ids.
  for (const std::string& name : lost) {
    client_.Delete(Collection("api/v1", "pods") + "/" + name, Json{{"gracePeriodSeconds", 0}}).IgnoreError();
  }
}

absl::StatusOr<std::vector<Allocation>> KubernetesPool::List(const std::vector<AllocationKey>& allocations) {
  Follow();
  // Pods first: the Job of each is then known, or gone.
  const absl::StatusOr<std::vector<Json>> pods = pods_->Items(kFirstList);
  if (!pods.ok()) return absl::UnavailableError(pods.status().message());
  const absl::StatusOr<std::vector<Json>> jobs = jobs_->Items(kFirstList);
  if (!jobs.ok()) return absl::UnavailableError(jobs.status().message());
  RemoveLostPods(*pods);
  std::map<std::string, std::pair<Json, std::vector<Json>>> by_name;
  for (const Json& job : *jobs) by_name[TextAt(job, "metadata", "name")].first = job;
  for (const Json& pod : *pods)
    by_name[TextAt(pod, "metadata", "labels", kObjectAllocationLabel)].second.push_back(pod);
  std::vector<Allocation> all;
  std::map<std::string, Trouble> troubles;
  for (const AllocationKey& key : allocations) {
    const auto found = by_name.find(key.name);
    if (found == by_name.end()) continue;
    const auto& [job, its_pods] = found->second;
    const std::string trouble = its_pods.empty() && job.is_object() ? TroubleOf(job) : "";
    KubernetesAllocation state = ReadAllocation(key.name, job, its_pods, trouble);
    if (const auto known = troubles_.find(state.uid); known != troubles_.end()) troubles.insert(*known);
    // Pods that are left of a Job that is gone and have ended tell nothing more.
    if (state.uid.empty() && state.phase == KubernetesPhase::kEnded) continue;
    all.push_back({key.name, state.uid.empty() ? key.id : state.uid, StateOf(state), std::move(state.reason),
                   std::move(state.nodes)});
  }
  troubles_ = std::move(troubles);
  return all;
}

absl::Status KubernetesPool::Remove(const std::string& name, const char* propagation) {
  const absl::Status job = client_.Delete(Collection("apis/batch/v1", "jobs") + "/" + name,
                                          Json{{"propagationPolicy", propagation}});
  const absl::Status secret = client_.Delete(Collection("api/v1", "secrets") + "/" + name, Json::object());
  return StatusOfPool(job.ok() ? secret : job);
}

absl::Status KubernetesPool::Cancel(const std::vector<AllocationKey>& allocations) {
  const auto end = steady_clock::now() + kLongestCancel;
  for (const AllocationKey& key : allocations) {
    // The Job is removed after its pods, so that List tells of it until they are gone.
    if (absl::Status status = Remove(key.name, "Foreground"); !status.ok()) return status;
    if (steady_clock::now() >= end)
      return absl::UnavailableError("the API server is slow; not all are cancelled yet");
  }
  return absl::OkStatus();
}

absl::Status KubernetesPool::Forget(const AllocationKey& allocation) {
  return Remove(allocation.name, "Background");
}

std::string KubernetesPool::Render(const std::vector<AllocationRequest>& batch) const {
  Json items = Json::array();
  for (AllocationRequest request : batch) {
    for (auto& [file, text] : request.files) text = "(made for each allocation)";
    if (!request.files.empty()) items.push_back(SecretManifest(options_.pods, request, ""));
    items.push_back(JobManifest(options_.pods, request, abilities_));
  }
  return Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump(2, ' ', false,
                                                                             Json::error_handler_t::replace) +
         "\n";
}

}  // namespace winnow
