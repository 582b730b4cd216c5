#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/host/pools/kubernetes/api_client.h"
#include "server/host/pools/kubernetes/job_manifest.h"
#include "server/host/pools/kubernetes/watched_list.h"
#include "server/host/pools/pool.h"

namespace winnow {

struct KubernetesPoolOptions {
  KubernetesAccessSource access;
  KubernetesPods pods;                                             // `name_space` "": the access's
  ApiTimes times = {.answer = std::chrono::milliseconds(12'000)};  // a call of Pool makes several
  std::chrono::milliseconds events_age{10'000};                    // events of a Job are asked for no oftener
  std::chrono::milliseconds lost_pod_after{60'000};  // after its grace, a pod that does not leave is removed
};

// Workers as pods of a Kubernetes cluster: a Job and a Secret for each allocation, both of its name. The id
// is the Job's uid. An allocation is RUNNING from its first pod on a node until the last is gone.
class KubernetesPool : public Pool {
 public:
  // FAILED_PRECONDITION: the access cannot be read. The API server is not asked yet, and need not be there.
  static absl::StatusOr<std::unique_ptr<KubernetesPool>> Start(KubernetesPoolOptions options);
  ~KubernetesPool() override;

  absl::StatusOr<std::vector<std::string>> Submit(const std::vector<AllocationRequest>& batch) override;
  absl::StatusOr<std::vector<Allocation>> List(const std::vector<AllocationKey>& allocations) override;
  absl::Status Cancel(const std::vector<AllocationKey>& allocations) override;
  absl::Status Forget(const AllocationKey& allocation) override;
  // A List of Kubernetes, as `kubectl apply -f -` reads it.
  std::string Render(const std::vector<AllocationRequest>& batch) const override;

  // How often the API server was asked, and how often for whole lists.
  int64_t calls() const { return client_.calls(); }
  int64_t lists() const { return jobs_ == nullptr ? 0 : jobs_->lists() + pods_->lists(); }

 private:
  struct Trouble {
    std::chrono::steady_clock::time_point asked;
    std::string words;
  };

  explicit KubernetesPool(KubernetesPoolOptions options);
  void Follow();
  absl::StatusOr<JobAbilities> Abilities();
  absl::StatusOr<std::string> SubmitOne(const AllocationRequest& request);
  absl::Status WriteSecret(const AllocationRequest& request, const std::string& job_uid);
  absl::Status Remove(const std::string& name, const char* propagation);
  std::string TroubleOf(const nlohmann::json& job);
  void RemoveLostPods(const std::vector<nlohmann::json>& pods);
  std::string Collection(const char* group, const char* kind) const;

  KubernetesPoolOptions options_;
  ApiClient client_;
  std::unique_ptr<WatchedList> jobs_;  // from the first call on, as the next
  std::unique_ptr<WatchedList> pods_;
  bool knows_abilities_ = false;
  JobAbilities abilities_;
  std::map<std::string, Trouble> troubles_;                               // by the Job's uid
  std::map<std::string, std::chrono::steady_clock::time_point> leaving_;  // pods, by uid
};

}  // namespace winnow
