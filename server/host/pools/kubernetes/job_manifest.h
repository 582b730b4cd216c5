#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/host/pools/pool.h"

namespace winnow {

// How the pods of a pool look: what its configuration says.
struct KubernetesPods {
  std::string pool;  // begins the names of the pool's allocations; all its objects carry it
  std::string name_space;
  std::string image;
  std::string image_pull_policy;  // "": the cluster's default
  std::vector<std::string> image_pull_secrets;
  std::string service_account;  // "": the namespace's default; no pod gets its token
  std::string priority_class;
  std::string queue;  // Kueue's LocalQueue; "": the cluster's scheduler alone
  std::string gpu_resource = "nvidia.com/gpu";
  std::map<std::string, std::string> node_selector;
  int64_t grace_seconds = 120;  // from the request to leave until a pod is killed
  nlohmann::json tolerations = nlohmann::json::array();
  // Merged into the pods' spec and into the worker's container (RFC 7396), but volumes, volumeMounts and env
  // are added to the own ones.
  nlohmann::json pod = nlohmann::json::object();
  nlohmann::json container = nlohmann::json::object();
};

inline constexpr const char* kObjectAllocationLabel = "winnow/allocation";
inline constexpr const char* kObjectPoolLabel = "winnow/pool";

// What a server's Jobs can do beyond those of Kubernetes 1.20.
struct JobAbilities {
  bool indexed = false;             // completionMode; since 1.24
  bool failure_policy = false;      // podFailurePolicy; since 1.26
  bool replacement_policy = false;  // podReplacementPolicy; since 1.29

  bool operator==(const JobAbilities&) const = default;
};

// `version` is the server's answer to GET /version. An unknown version has none of them.
JobAbilities AbilitiesOf(const nlohmann::json& version);

// The Job (batch/v1) of an allocation: one pod a node, each of which is tried once. The time limit is that of
// the pods, so that the time in which they wait for a node does not count. An argument "NAME.{node}", NAME
// being the allocation's, becomes the name of the pod, which is NAME and more: a pod that comes in the place
// of another is another worker.
nlohmann::json JobManifest(const KubernetesPods& pods, const AllocationRequest& request,
                           const JobAbilities& abilities);

// The Secret with the allocation's files. It goes with the Job of that uid; "": there is none yet.
nlohmann::json SecretManifest(const KubernetesPods& pods, const AllocationRequest& request,
                              const std::string& job_uid);

// Selects the Jobs and pods of the pool in a list: "labelSelector=…".
std::string SelectorQuery(const KubernetesPods& pods);

}  // namespace winnow
