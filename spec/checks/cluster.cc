#include "spec/checks/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/names.h"
#include "scheduler/space/space.h"
#include "scheduler/space/types.h"
#include "spec/builtin_trainers.h"

namespace winnow {
namespace {

constexpr int32_t kMostSlots = 1024;  // of a worker
constexpr int32_t kMostGpus = 1024;   // likewise
constexpr double kLeastGpuShare = 0.001;
constexpr double kMostCpus = 4096;
constexpr double kMostMemoryGib = 65'536;
constexpr double kLeastCpus = 0.01;  // the least share that a cgroup takes
constexpr double kLeastMemoryGib = 0.001;
constexpr size_t kLongestLabel = 63;
constexpr int kMostLabels = 64;
constexpr int kMostPools = 64;
constexpr int32_t kMostPriority = 1000;
constexpr double kLeastWeight = 0.001, kMostWeight = 1000;

bool IsLabel(const std::string& text) {
  return text.size() <= kLongestLabel && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || std::string("-_./").find(static_cast<char>(c)) != std::string::npos;
         });
}

std::optional<double> Whole(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<double>(value);
}

class ClusterChecker {
 public:
  explicit ClusterChecker(const v1::TuningJobSpec& spec) : spec_(spec), cluster_(spec.cluster()) {}

  std::vector<Violation> Run() {
    Shape();
    Labels();
    Pools();
    if (!cluster_.nodes_parameter().empty()) NodesParameter();
    Scheduling();
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }

  void Shape() {
    if (cluster_.slots() < 0 || cluster_.slots() > kMostSlots) {
      Add("cluster.slots",
          fmt::format("is {}; expected 1 to {} slots per rank", cluster_.slots(), kMostSlots));
    }
    Share("cluster.cpus", cluster_.cpus(), kLeastCpus, kMostCpus, "processors");
    Share("cluster.memory_gib", cluster_.memory_gib(), kLeastMemoryGib, kMostMemoryGib, "GiB");
    Gpus();
  }

  void Gpus() {
    if (cluster_.gpus() < 0 || cluster_.gpus() > kMostGpus) {
      Add("cluster.gpus", fmt::format("is {}; expected 0 to {} GPUs per rank", cluster_.gpus(), kMostGpus));
    }
    const double share = cluster_.gpu_share();
    if (share == 0) return;
    if (!(share >= kLeastGpuShare && share < 1)) {
      Add("cluster.gpu_share",
          fmt::format(
              "is {}; expected a share of one GPU, at least {} and below 1, or cluster.gpus for whole ones",
              share, kLeastGpuShare));
    }
    if (cluster_.gpus() != 0) {
      Add("cluster.gpu_share",
          fmt::format("is {} beside cluster.gpus {}; expected one of the two", share, cluster_.gpus()));
    }
  }

  void Share(const std::string& at, double value, double least, double most, const char* unit) {
    if (value == 0 || (value >= least && value <= most)) return;
    Add(at, fmt::format("is {}; expected {} to {} {} per rank, or 0 for no limit", value, least, most, unit));
  }

  void Labels() {
    const std::map<std::string, std::string> sorted(cluster_.labels().begin(), cluster_.labels().end());
    if (cluster_.labels_size() > kMostLabels) {
      Add("cluster.labels", fmt::format("has {}; expected at most {}", cluster_.labels_size(), kMostLabels));
    }
    const std::string expected =
        fmt::format("; expected at most {} letters, digits, '-', '_', '.', '/'", kLongestLabel);
    for (const auto& [name, value] : sorted) {
      const std::string at = "cluster.labels." + name;
      if (name.empty() || !IsLabel(name)) Add(at, Quoted(name) + " is not a label's name" + expected);
      if (!IsLabel(value)) Add(at, "is " + Quoted(value) + expected + ", or \"\" for any value");
    }
  }

  // Which pools there are, the server knows.
  void Pools() {
    if (cluster_.pools_size() > kMostPools) {
      Add("cluster.pools", fmt::format("has {}; expected at most {}", cluster_.pools_size(), kMostPools));
    }
    std::set<std::string> names;
    for (int i = 0; i < cluster_.pools_size(); ++i) {
      const std::string at = fmt::format("cluster.pools[{}]", i), &name = cluster_.pools(i);
      if (name.empty() || !IsLabel(name)) Add(at, Quoted(name) + " is not a pool's name");
      if (!names.insert(name).second) Add(at, "is " + Quoted(name) + " again; expected each pool once");
    }
  }

  void NodesParameter() {
    const std::string at = "cluster.nodes_parameter", &name = cluster_.nodes_parameter();
    if (cluster_.nodes() != 0) {
      Add("cluster.nodes", fmt::format("is {} beside nodes_parameter {}; expected one of the two",
                                       cluster_.nodes(), Quoted(name)));
    }
    std::vector<std::string> names;
    for (const v1::ParameterSpec& parameter : spec_.parameters()) names.push_back(parameter.name());
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return Add(at, Quoted(name) + " is not a tuned hyperparameter" + DidYouMean(name, names));
    }
    const auto index = static_cast<int>(found - names.begin());
    const v1::ParameterSpec& parameter = spec_.parameters(index);
    if (parameter.has_condition()) {
      Add(at, Quoted(name) + " exists only under a condition; expected one that every trial has");
    }
    const BuiltinTrainer* trainer = FindBuiltinTrainer(spec_.trainer().builtin());
    if (trainer != nullptr && trainer->Find(name)) {
      return Add(at, Quoted(name) + " is a hyperparameter of " + trainer->name + "; expected another name");
    }
    Range(fmt::format("parameters[{}]", index), parameter);
  }

  void Range(const std::string& at, const v1::ParameterSpec& parameter) {
    switch (parameter.range_case()) {
      case v1::ParameterSpec::kInteger:
        Count(at + ".integer.min", static_cast<double>(parameter.integer().min()));
        Count(at + ".integer.max", static_cast<double>(parameter.integer().max()));
        break;
      case v1::ParameterSpec::kDiscrete:
        for (int i = 0; i < parameter.discrete().values_size(); ++i)
          Count(fmt::format("{}.discrete.values[{}]", at, i), parameter.discrete().values(i));
        break;
      case v1::ParameterSpec::kCategorical:
        for (int i = 0; i < parameter.categorical().values_size(); ++i) {
          const std::string& text = parameter.categorical().values(i);
          const std::string value = fmt::format("{}.categorical.values[{}]", at, i);
          const std::optional<double> count = Whole(text);
          if (count) {
            Count(value, *count);
          } else {
            Add(value, "is " + Quoted(text) + Expected());
          }
        }
        break;
      case v1::ParameterSpec::kContinuous:
        Add(at + ".continuous",
            Quoted(parameter.name()) +
                " is the number of nodes; expected an integer or discrete range, or whole numbers to choose "
                "from");
        break;
      default:
        break;  // that it has no range is said by others
    }
  }

  void Count(const std::string& at, double count) {
    if (count >= 1 && count <= kMostNodes && count == std::floor(count)) return;
    Add(at, "is " + DoubleToString(count) + Expected());
  }

  static std::string Expected() {
    return fmt::format("; expected a number of nodes, whole and from 1 to {}", kMostNodes);
  }

  void Scheduling() {
    const v1::SchedulingSpec& scheduling = spec_.scheduling();
    if (spec_.has_scheduling() && spec_.trainer().external()) {
      return Add("scheduling",
                 "is given; expected none with an external trainer, whose trials take no slots here");
    }
    if (std::abs(static_cast<int64_t>(scheduling.priority())) > kMostPriority) {
      Add("scheduling.priority",
          fmt::format("is {}; expected -{} to {}", scheduling.priority(), kMostPriority, kMostPriority));
    }
    const double weight = scheduling.weight();
    if (scheduling.has_weight() && !(weight >= kLeastWeight && weight <= kMostWeight)) {
      Add("scheduling.weight", fmt::format("is {}; expected {} to {}", weight, kLeastWeight, kMostWeight));
    }
  }

  const v1::TuningJobSpec& spec_;
  const v1::ClusterSpec& cluster_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckCluster(const v1::TuningJobSpec& spec) { return ClusterChecker(spec).Run(); }

}  // namespace winnow
