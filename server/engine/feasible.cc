#include "server/engine/feasible.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "artifact/manifest.h"
#include "base/names.h"
#include "server/engine/answers/violations.h"
#include "spec/cluster.h"
#include "spec/search_spec.h"

namespace winnow {
namespace {

std::string Counted(int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

class RanksFit {
 public:
  RanksFit(const v1::TuningJobSpec& spec, const std::string& project, const std::vector<WorkerRoom>& known,
           const std::vector<WorkerRoom>& declared)
      : spec_(spec), shape_(ShapeOf(spec, project)), known_(known), declared_(declared) {}

  std::vector<Violation> Check() const {
    if (known_.empty() && declared_.empty()) return {};
    if (std::vector<Violation> unknown = UnknownPools(); !unknown.empty()) return unknown;
    const bool tuned = !spec_.cluster().nodes_parameter().empty();
    const int32_t nodes = ToSearchSpec(spec_).MostNodes();
    const int64_t most = Most(shape_);
    if (most >= nodes) return {};
    if (most == 0) return {NoRank()};
    const std::string what = tuned ? fmt::format("is \"{}\", of which the largest value is {}",
                                                 spec_.cluster().nodes_parameter(), nodes)
                                   : fmt::format("is {}", nodes);
    return {{tuned ? "cluster.nodes_parameter" : "cluster.nodes",
             fmt::format("{}, but no set of {} workers could hold {} of {}{}: the largest is {}{}", what,
                         Whose(), Counted(nodes, "rank"), ShareText(shape_), LabelsText(shape_), most,
                         OutOfReachText(known_, shape_, most))}};
  }

 private:
  // The most ranks of that shape on machines that may be present together.
  int64_t Most(const RankShape& shape) const {
    return std::max(CapacityOf(known_, shape), CapacityOf(declared_, shape));
  }

  const char* Whose() const {
    return declared_.empty() ? "registered" : known_.empty() ? "declared" : "registered or declared";
  }

  std::vector<Violation> UnknownPools() const {
    std::set<std::string> names;
    for (const auto* rooms : {&known_, &declared_}) {
      for (const WorkerRoom& room : *rooms) {
        if (const auto pool = room.labels.find(kPoolLabel); pool != room.labels.end())
          names.insert(pool->second);
      }
    }
    const std::string expected =
        names.empty() ? "the server has none" : fmt::format("expected {}", fmt::join(names, " or "));
    std::vector<Violation> unknown;
    for (int i = 0; i < spec_.cluster().pools_size(); ++i) {
      const std::string& name = spec_.cluster().pools(i);
      if (names.contains(name)) continue;
      unknown.push_back({fmt::format("cluster.pools[{}]", i),
                         fmt::format("is {}, which is not a pool; {}", Quoted(name), expected)});
    }
    return unknown;
  }

  // Says which of the things asked for is too much for every worker, the first that is.
  Violation NoRank() const {
    RankShape so_far;
    so_far.project = shape_.project;
    so_far.pools = shape_.pools;
    so_far.labels = shape_.labels;
    if (Most(so_far) == 0) {
      return {"cluster.labels", fmt::format("no {} worker is one{}", Whose(), LabelsText(shape_))};
    }
    const auto refuse = [this](const char* field, const std::string& asked, const std::string& most) {
      return Violation{field, fmt::format("is {}, but the most that a {} worker{} has is {}", asked, Whose(),
                                          LabelsText(shape_), most)};
    };
    so_far.slots = shape_.slots;
    if (Most(so_far) == 0) {
      const double most = Largest([](const WorkerRoom& room) { return room.free_slots; });
      return refuse("cluster.slots", fmt::format("{}", shape_.slots), fmt::format("{}", most));
    }
    so_far.cpus = shape_.cpus;
    if (Most(so_far) == 0) {
      const double most = Largest([](const WorkerRoom& room) { return room.free_cpus; });
      return refuse("cluster.cpus", fmt::format("{}", shape_.cpus), fmt::format("{}", most));
    }
    so_far.memory_gib = shape_.memory_gib;
    if (Most(so_far) == 0) {
      const double most = Largest([](const WorkerRoom& room) { return room.free_memory_gib; });
      return refuse("cluster.memory_gib", fmt::format("{}", shape_.memory_gib), fmt::format("{:.4g}", most));
    }
    const double most = Largest([](const WorkerRoom& room) { return room.gpus.size(); });
    if (shape_.gpus > 0) return refuse("cluster.gpus", std::to_string(shape_.gpus), fmt::format("{}", most));
    return {"cluster.gpu_share", fmt::format("is {}, but no {} worker{} has a GPU", shape_.gpu_share, Whose(),
                                             LabelsText(shape_))};
  }

  template <class Of>
  double Largest(Of of) const {
    double largest = 0;
    for (const auto* rooms : {&known_, &declared_}) {
      for (const WorkerRoom& room : *rooms) {
        if (HasLabels(room, shape_)) largest = std::max(largest, static_cast<double>(of(room)));
      }
    }
    return largest;
  }

  const v1::TuningJobSpec& spec_;
  const RankShape shape_;
  const std::vector<WorkerRoom>& known_;
  const std::vector<WorkerRoom>& declared_;
};

}  // namespace

std::vector<WorkerRoom> KnownMachines(const std::vector<WorkerRow>& workers) {
  std::map<std::string, const WorkerRow*> newest;
  for (const WorkerRow& worker : workers) {
    const WorkerRow*& known = newest[worker.name];
    if (known == nullptr || worker.register_us >= known->register_us) known = &worker;
  }
  std::vector<WorkerRoom> rooms;
  for (const auto& [name, worker] : newest) {
    if (worker->state != WorkerState::kGone) rooms.push_back(WholeRoom(*worker));
  }
  return rooms;
}

std::vector<Violation> CheckFits(const v1::TuningJobSpec& spec, const std::string& project,
                                 const std::vector<WorkerRoom>& known,
                                 const std::vector<WorkerRoom>& declared) {
  if (spec.trainer().external()) return {};
  std::vector<WorkerRoom> its;
  std::copy_if(known.begin(), known.end(), std::back_inserter(its),
               [&project](const WorkerRoom& room) { return MayRun(room.projects, project); });
  return RanksFit(spec, project, its, declared).Check();
}

absl::Status Fits(const v1::TuningJobSpec& spec, const std::string& project, const Workers& workers,
                  std::vector<WorkerRoom> declared) {
  std::vector<WorkerRow> rows;
  for (const auto& [id, worker] : workers.all()) rows.push_back(worker.row);
  for (WorkerRoom& room : declared) {
    const auto registered = std::find_if(
        rows.begin(), rows.end(), [&room](const WorkerRow& row) { return row.name == room.worker_id; });
    if (registered == rows.end()) continue;
    const WorkerRoom whole = WholeRoom(*registered);
    room.free_cpus = whole.free_cpus;
    room.free_memory_gib = whole.free_memory_gib;
  }
  const std::vector<Violation> found = CheckFits(spec, project, KnownMachines(rows), declared);
  return found.empty() ? absl::OkStatus() : ViolationsError(found);
}

absl::Status FitsQuotas(const v1::TuningJobSpec& spec, const std::string& project, const std::string& person,
                        const ProjectBook& projects) {
  if (!projects.on() || spec.trainer().external()) return absl::OkStatus();
  const SearchSpec search = ToSearchSpec(spec);
  const RankShape shape = ShapeOf(spec, project);
  const QuotaUse more = UseOfStart(shape, search.MostNodes(), JobState(search));
  const std::optional<QuotaStop> stop = projects.NeverAllowed(project, person, more);
  if (!stop) return absl::OkStatus();
  const bool gpus = stop->part == QuotaPart::kGpus;
  const std::string each = gpus ? (shape.gpus > 0 ? "gpus" : "gpu_share") : "slots";
  const int32_t nodes = search.MostNodes();
  const std::string what =
      nodes > 1 ? fmt::format("is {}, so that a trial takes {:g} {}", nodes,
                              gpus ? more.gpus : static_cast<double>(more.slots), gpus ? "GPUs" : "slots")
                : fmt::format("is {:g}", gpus ? more.gpus : static_cast<double>(more.slots));
  return ViolationsError({{nodes > 1 ? "cluster.nodes" : "cluster." + each,
                           fmt::format("{}; expected at most {:g} {}, the quota of {}", what,
                                       gpus ? stop->quota.gpus : static_cast<double>(stop->quota.slots),
                                       gpus ? "GPUs" : "slots", Whose(*stop))}});
}

absl::Status FitsStorageQuotas(const v1::Manifest& source, const std::string& project,
                               const std::string& person, const ProjectBook& projects, int64_t now_us) {
  if (!projects.on()) return absl::OkStatus();
  int64_t bytes = 0;
  for (const v1::BlobName& blob : BlobsOf(source)) bytes += blob.size();
  const std::optional<QuotaStop> stop = projects.StoringForbidden(project, person, bytes);
  if (!stop) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "source: it has {:.3g} MiB. {}", static_cast<double>(bytes) / (1 << 20), TextOf(*stop, now_us)));
}

std::string ShareText(const RankShape& shape) {
  std::vector<std::string> parts = {Counted(shape.slots, "slot")};
  if (shape.cpus > 0) parts.push_back(fmt::format("{} processors", shape.cpus));
  if (shape.memory_gib > 0) parts.push_back(fmt::format("{} GiB", shape.memory_gib));
  if (shape.gpus > 0) parts.push_back(Counted(shape.gpus, "GPU"));
  if (shape.gpu_share > 0) parts.push_back(fmt::format("{} of a GPU", shape.gpu_share));
  const std::string last = parts.back();
  parts.pop_back();
  return parts.empty() ? last : fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

std::string LabelsText(const RankShape& shape) {
  std::vector<std::string> labels;
  for (const auto& [name, value] : shape.labels) labels.push_back(value.empty() ? name : name + "=" + value);
  std::string text;
  if (!shape.pools.empty()) text = fmt::format(" in pool {}", fmt::join(shape.pools, " or "));
  if (!labels.empty())
    text += fmt::format(" with label{} {}", labels.size() == 1 ? "" : "s", fmt::join(labels, ", "));
  if (shape.encrypted) text += " that can encrypt what ranks tell each other (--rank-tls always)";
  return text;
}

std::string OutOfReachText(const std::vector<WorkerRoom>& workers, const RankShape& shape, int64_t most) {
  int64_t all = 0, on_loopback = 0;
  for (const WorkerRoom& worker : workers) {
    const int32_t ranks = Capacity(worker, shape);
    all += ranks;
    if (!worker.loopback_of.empty()) on_loopback += ranks;
  }
  if (all <= most) return "";
  return fmt::format(
      " (all workers together have room for {}, of which {} on workers whose host is a loopback address: the "
      "ranks of a trial on other machines cannot reach those; start such workers with --host ADDRESS)",
      all, on_loopback);
}

std::string WaitsFor(int32_t nodes, const RankShape& shape, const std::vector<WorkerRoom>& whole) {
  if (whole.empty() && !shape.project.empty())
    return fmt::format("Waiting for a worker: none that runs jobs of project {} is present.", shape.project);
  if (whole.empty()) return "Waiting for a worker: none is present.";
  RankShape plainest;
  plainest.project = shape.project;
  const bool plain = shape == plainest;
  const std::string of_each = plain ? "" : " of " + ShareText(shape);
  const int64_t most = CapacityOf(whole, shape);
  if (most < nodes) {
    const std::string more = OutOfReachText(whole, shape, most);
    if (plain)
      return fmt::format("Waiting for {} slots at once: the workers present have {}{}.", nodes, most, more);
    return fmt::format("Waiting for workers: {}{}{} at once, of which those present could hold {}{}.",
                       Counted(nodes, "rank"), of_each, LabelsText(shape), most, more);
  }
  const int64_t slots = static_cast<int64_t>(nodes) * shape.slots;
  const std::string what = shape.cpus > 0 || shape.memory_gib > 0 || shape.UsesGpus()
                               ? fmt::format("room for {}{}", Counted(nodes, "rank"), of_each)
                               : fmt::format("{} free slot{}", slots, slots == 1 ? "" : "s");
  const std::string labels = LabelsText(shape);
  return fmt::format("Waits for {}{}{}.", what, labels.empty() ? "" : " on workers", labels);
}

}  // namespace winnow
