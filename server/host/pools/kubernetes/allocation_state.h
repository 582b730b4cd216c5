#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace winnow {

enum class KubernetesPhase {
  kQueued,    // no pod of it runs: no room, no quota, or it is suspended
  kStarting,  // pods are starting, or not all run
  kRunning,   // all pods run
  kEnding,    // asked to leave; pods still run
  kEnded,
};

// What the cluster says of an allocation.
struct KubernetesAllocation {
  std::string name;
  std::string uid;  // of its Job; "": it has none any more
  KubernetesPhase phase = KubernetesPhase::kQueued;
  std::string reason;              // why it waits or has ended, in a sentence or two; may be ""
  std::vector<std::string> pods;   // that run; each pod's worker has its name
  std::vector<std::string> nodes;  // on which they run, in that order
};

// Reads the state of one allocation from its Job (null: it is gone) and the pods with its label. `trouble` is
// what an event about the Job says, such as a quota that is used up; it counts while there is no pod. Any
// JSON is accepted.
KubernetesAllocation ReadAllocation(const std::string& name, const nlohmann::json& job,
                                    const std::vector<nlohmann::json>& pods, const std::string& trouble);

}  // namespace winnow
