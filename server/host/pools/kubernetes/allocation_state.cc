#include "server/host/pools/kubernetes/allocation_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/host/pools/kubernetes/event_stream.h"
#include "server/host/pools/kubernetes/fields.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostReason = 500;

// The condition of that type; null if it is not there or not "True".
const Json& TrueCondition(const Json& object, const std::string& type) {
  for (const Json& condition : FieldAt(object, "status", "conditions")) {
    if (TextAt(condition, "type") == type && TextAt(condition, "status") == "True") return condition;
  }
  return FieldAt(Json(), "");
}

const Json& ConditionOf(const Json& object, const std::string& type) {
  for (const Json& condition : FieldAt(object, "status", "conditions")) {
    if (TextAt(condition, "type") == type) return condition;
  }
  return FieldAt(Json(), "");
}

std::string NameOfPod(const Json& pod) { return TextAt(pod, "metadata", "name"); }
std::string PhaseOfPod(const Json& pod) { return TextAt(pod, "status", "phase"); }
bool Leaves(const Json& object) { return !TextAt(object, "metadata", "deletionTimestamp").empty(); }
bool HasEnded(const Json& pod) { return PhaseOfPod(pod) == "Failed" || PhaseOfPod(pod) == "Succeeded"; }

std::string WithDetail(const std::string& words, const std::string& detail) {
  return detail.empty() ? words : words + ": " + detail;
}

// The end of a container's message, which may be the end of its output, in one line.
std::string LastWords(const std::string& message) {
  constexpr std::size_t kMostLines = 2;
  std::vector<std::string> lines = absl::StrSplit(message, '\n', absl::SkipWhitespace());
  if (lines.size() > kMostLines) lines.erase(lines.begin(), lines.end() - kMostLines);
  return fmt::format("{}", fmt::join(lines, " / "));
}

std::string OnNode(const Json& pod) {
  const std::string node = TextAt(pod, "spec", "nodeName");
  return node.empty() ? fmt::format("pod {}", NameOfPod(pod))
                      : fmt::format("pod {} on node {}", NameOfPod(pod), node);
}

// Its worker runs, as far as its node has said, but the cluster no longer hears of the node.
bool NodeIsSilent(const Json& pod) {
  if (PhaseOfPod(pod) != "Running" || TextAt(ConditionOf(pod, "Ready"), "status") != "False") return false;
  for (const Json& container : FieldAt(pod, "status", "containerStatuses")) {
    if (FieldAt(container, "state", "running").is_object()) return true;
  }
  return false;
}

// Why the pod does not run yet; "": nothing is known.
std::string WaitingReason(const Json& pod) {
  if (TextAt(pod, "spec", "nodeName").empty()) {
    const Json& scheduled = ConditionOf(pod, "PodScheduled");
    if (TextAt(scheduled, "status") != "False") return "";
    return WithDetail(fmt::format("pod {} waits for a node", NameOfPod(pod)), TextAt(scheduled, "message"));
  }
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& container : FieldAt(pod, "status", list)) {
      const std::string why = TextAt(container, "state", "waiting", "reason");
      const std::string detail = TextAt(container, "state", "waiting", "message");
      if (why.empty() || why == "ContainerCreating" || why == "PodInitializing") continue;
      const bool image = why.find("Image") != std::string::npos || why == "RegistryUnavailable";
      return WithDetail(
          fmt::format("{} cannot start: {}{}", OnNode(pod), image ? "image pull error, " : "", why), detail);
    }
  }
  return fmt::format("{} is starting", OnNode(pod));
}

// Why the cluster took the pod away; "": it did not.
std::string TakenAway(const Json& pod) {
  const std::string why = TextAt(pod, "status", "reason");
  const std::string detail = TextAt(pod, "status", "message");
  if (why == "Evicted") return WithDetail("was evicted", detail);
  if (why == "DeadlineExceeded") return "reached its time limit";
  if (why == "NodeLost") return WithDetail("was lost with its node", detail);
  if (why == "Preempting" || why == "Preempted") return WithDetail("was preempted", detail);
  const Json& target = TrueCondition(pod, "DisruptionTarget");
  if (const std::string cause = TextAt(target, "reason"); !cause.empty()) {
    const std::string more = TextAt(target, "message");
    if (cause == "PreemptionByScheduler") return WithDetail("was preempted", more);
    if (cause == "DeletionByTaintManager") return WithDetail("was lost with its node", more);
    if (cause == "DeletionByPodGC") return WithDetail("was lost with its node", more);
    return WithDetail("was evicted (" + cause + ")", more);
  }
  if (!why.empty()) return WithDetail("ended (" + why + ")", detail);
  return "";
}

// How the pod ended.
std::string EndReason(const Json& pod) {
  if (const std::string taken = TakenAway(pod); !taken.empty()) return OnNode(pod) + " " + taken;
  for (const Json& container : FieldAt(pod, "status", "containerStatuses")) {
    const Json& end = FieldAt(container, "state", "terminated");
    if (!end.is_object()) continue;
    if (TextAt(end, "reason") == "OOMKilled")
      return fmt::format("{} used more memory than its limit (OOMKilled)", OnNode(pod));
    return WithDetail(fmt::format("{} ended with exit code {}", OnNode(pod), NumberAt(end, "exitCode")),
                      LastWords(TextAt(end, "message")));
  }
  return fmt::format("{} ended", OnNode(pod));
}

// How a Job that has failed came to that.
std::string FailureReason(const Json& failed, const std::vector<Json>& pods) {
  for (const Json& pod : pods) {
    if (PhaseOfPod(pod) == "Failed") return EndReason(pod);
  }
  const std::string why = TextAt(failed, "reason");
  if (why == "DeadlineExceeded") return "it reached its time limit";
  return WithDetail(why.empty() ? "its Job failed" : "its Job failed (" + why + ")",
                    TextAt(failed, "message"));
}

}  // namespace

KubernetesAllocation ReadAllocation(const std::string& name, const Json& job, const std::vector<Json>& pods,
                                    const std::string& trouble) {
  KubernetesAllocation all;
  all.name = name;
  all.uid = TextAt(job, "metadata", "uid");
  int64_t live = 0;
  int64_t over = 0;
  std::string silent;
  std::string waiting;
  std::string ended;
  for (const Json& pod : pods) {
    if (HasEnded(pod)) {
      ++over;
      if (ended.empty() || PhaseOfPod(pod) == "Failed") ended = EndReason(pod);
      continue;
    }
    ++live;
    if (NodeIsSilent(pod)) {
      silent =
          fmt::format("node {} of pod {} does not answer", TextAt(pod, "spec", "nodeName"), NameOfPod(pod));
    } else if (PhaseOfPod(pod) == "Running") {
      all.pods.push_back(NameOfPod(pod));
      all.nodes.push_back(TextAt(pod, "spec", "nodeName"));
    } else if (waiting.empty()) {
      waiting = WaitingReason(pod);
    }
  }

  const Json& failed = TrueCondition(job, "Failed");
  const bool complete = TrueCondition(job, "Complete").is_object();
  const int64_t wanted = std::max<int64_t>(1, NumberAt(job, "spec", "parallelism"));
  const auto running = static_cast<int64_t>(all.pods.size());
  if (failed.is_object() || complete || !job.is_object() || Leaves(job)) {
    all.phase = live > 0 ? KubernetesPhase::kEnding : KubernetesPhase::kEnded;
    // A Job that is being removed exists until its pods are gone.
    if (job.is_object() && Leaves(job) && !failed.is_object() && !complete)
      all.phase = KubernetesPhase::kEnding;
    if (failed.is_object()) {
      all.reason = FailureReason(failed, pods);
    } else if (!complete) {
      all.reason = !silent.empty()   ? silent
                   : job.is_object() ? "its Job is being removed"
                                     : "its Job was removed";
    }
  } else if (running > 0 && running + over >= wanted) {
    all.phase = KubernetesPhase::kRunning;
    all.reason = ended;
  } else if (pods.empty()) {
    const bool suspended = FieldAt(job, "spec", "suspend") == Json(true);
    const std::string queue = TextAt(job, "metadata", "labels", "kueue.x-k8s.io/queue-name");
    all.reason = suspended ? (queue.empty() ? "its Job is suspended" : "it waits in Kueue's queue " + queue)
                           : WithDetail("it has no pods yet", trouble);
  } else if (live == 0 && over >= wanted) {
    all.phase = KubernetesPhase::kEnding;
    all.reason = ended;
  } else {
    const bool started = running > 0 || over > 0 || !silent.empty();
    bool bound = started;
    for (const Json& pod : pods) bound = bound || !TextAt(pod, "spec", "nodeName").empty();
    all.phase = bound ? KubernetesPhase::kStarting : KubernetesPhase::kQueued;
    all.reason = !silent.empty() ? silent : !waiting.empty() ? waiting : !ended.empty() ? ended : trouble;
    if (started) all.reason = WithDetail(fmt::format("{} of {} pods run", running, wanted), all.reason);
  }
  all.reason = OneLine(all.reason, kMostReason);
  return all;
}

}  // namespace winnow
