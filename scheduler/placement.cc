#include "scheduler/placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "base/mutant.h"

namespace winnow {

namespace {

// Ranks that a quantity is enough for. Sums of shares such as 0.1 must not miss by their last bit.
int32_t Times(double free, double each) {
  if (each <= 0) return std::numeric_limits<int32_t>::max();
  const double times = std::floor(free / each + 1e-9);
  return static_cast<int32_t>(std::clamp(times, 0.0, 1e9));
}

// Ranks that the worker's GPUs are enough for.
int32_t GpuTimes(const WorkerRoom& worker, const RankShape& shape) {
  if (!shape.UsesGpus()) return std::numeric_limits<int32_t>::max();
  int32_t unused = 0;
  int64_t parts = 0;
  for (const GpuRoom& gpu : worker.gpus) {
    if (gpu.ranks == 0) ++unused;
    if (shape.gpu_share > 0) parts += Times(gpu.free, shape.gpu_share);
  }
  if (shape.gpus > 0) return unused / shape.gpus;
  return static_cast<int32_t>(std::min<int64_t>(parts, std::numeric_limits<int32_t>::max()));
}

// REQUIRES room for the rank.
std::vector<std::string> ChooseGpus(const WorkerRoom& worker, const RankShape& shape) {
  std::vector<std::string> chosen;
  const GpuRoom* best = nullptr;
  for (const GpuRoom& gpu : worker.gpus) {
    const bool unused = gpu.ranks == 0;
    if (unused && static_cast<int32_t>(chosen.size()) < shape.gpus) chosen.push_back(gpu.id);
    if (shape.gpu_share <= 0 || Times(gpu.free, shape.gpu_share) < 1) continue;
    const bool better = best == nullptr || gpu.free < best->free;
    if (better) best = &gpu;
  }
  if (best != nullptr) chosen = {best->id};
  return chosen;
}

// Where a worker stands among those that have room: first by smaller members.
struct Room {
  bool elsewhere;      // than the checkpoint
  bool ran_elsewhere;  // before
  size_t spare_labels;
  int64_t fit;
  int32_t free_slots;
  const std::string* id;
  int32_t ranks;  // that it has room for
  const std::string* loopback_of;

  bool operator<(const Room& other) const {
    return std::tie(elsewhere, ran_elsewhere, spare_labels, fit, free_slots, *id) <
           std::tie(other.elsewhere, other.ran_elsewhere, other.spare_labels, other.fit, other.free_slots,
                    *other.id);
  }
};

Room RoomOf(const WorkerRoom& worker, int32_t ranks, const GangRequest& gang) {
  const bool shares = !gang.storage_id.empty() && worker.storage_id == gang.storage_id;
  const bool ran_it = !gang.worker_id.empty() && worker.worker_id == gang.worker_id;
  const size_t spare = worker.labels.size() - gang.shape.labels.size();  // it has all that are asked for
  const int64_t fit = gang.nodes == 1 ? ranks : -static_cast<int64_t>(ranks);
  return {!shares, !ran_it, spare, fit, worker.free_slots, &worker.worker_id, ranks, &worker.loopback_of};
}

// Keeps one set of workers that reach each other: the first that has room for so many ranks. Returns false if
// there is none.
bool KeepOnesInReach(int32_t nodes, std::vector<Room>* rooms) {
  std::map<std::string_view, int64_t> ranks;
  for (const Room& room : *rooms) ranks[*room.loopback_of] += room.ranks;
  const auto first = std::find_if(rooms->begin(), rooms->end(),
                                  [&](const Room& room) { return ranks[*room.loopback_of] >= nodes; });
  if (first == rooms->end()) return false;
  const std::string_view chosen = *first->loopback_of;
  std::erase_if(*rooms, [chosen](const Room& room) { return *room.loopback_of != chosen; });
  return true;
}

}  // namespace

bool MayRun(const std::vector<std::string>& projects, std::string_view project) {
  return projects.empty() || std::find(projects.begin(), projects.end(), project) != projects.end();
}

bool HasLabels(const WorkerRoom& worker, const RankShape& shape) {
  const bool may_run = MayRun(worker.projects, shape.project);
  if (!may_run && !WINNOW_MUTANT("a worker gets trials of a project that it may not run")) return false;
  if (shape.encrypted && !worker.encrypts) return false;
  if (!shape.pools.empty()) {
    const auto pool = worker.labels.find(kPoolLabel);
    if (pool == worker.labels.end()) return false;
    if (std::find(shape.pools.begin(), shape.pools.end(), pool->second) == shape.pools.end()) return false;
  }
  return std::all_of(shape.labels.begin(), shape.labels.end(), [&worker](const auto& wanted) {
    const auto found = worker.labels.find(wanted.first);
    return found != worker.labels.end() && (wanted.second.empty() || found->second == wanted.second);
  });
}

int32_t Capacity(const WorkerRoom& worker, const RankShape& shape) {
  if (worker.free_slots <= 0 || !HasLabels(worker, shape)) return 0;
  return std::min({worker.free_slots / std::max(1, shape.slots), Times(worker.free_cpus, shape.cpus),
                   Times(worker.free_memory_gib, shape.memory_gib), GpuTimes(worker, shape)});
}

int32_t GangCapacity(const WorkerRoom& worker, const GangRequest& gang) {
  const bool limited = worker.ends_us != 0 && gang.takes_us <= worker.life_us / 10 * 9;
  const bool ends_in_time = !limited || gang.start_us + gang.takes_us <= worker.ends_us ||
                            WINNOW_MUTANT("a part starts on a worker that leaves before its end");
  return ends_in_time ? Capacity(worker, gang.shape) : 0;
}

int64_t CapacityOf(const std::vector<WorkerRoom>& workers, const RankShape& shape) {
  std::map<std::string_view, int64_t> ranks;
  int64_t most = 0;
  for (const WorkerRoom& worker : workers)
    most = std::max(most, ranks[worker.loopback_of] += Capacity(worker, shape));
  return most;
}

std::optional<std::vector<std::string>> Place(const std::vector<WorkerRoom>& workers,
                                              const GangRequest& gang) {
  std::vector<Room> rooms;
  int64_t ranks_in_all = 0;
  for (const WorkerRoom& worker : workers) {
    const int32_t ranks = GangCapacity(worker, gang);
    if (ranks <= 0) continue;
    rooms.push_back(RoomOf(worker, ranks, gang));
    ranks_in_all += ranks;
  }
  if (gang.nodes < 1 || ranks_in_all < gang.nodes) return std::nullopt;

  if (gang.nodes == 1) return std::vector<std::string>{*std::min_element(rooms.begin(), rooms.end())->id};
  std::sort(rooms.begin(), rooms.end());
  const bool any = WINNOW_MUTANT("a trial has ranks that cannot reach each other");
  if (!any && !KeepOnesInReach(gang.nodes, &rooms)) return std::nullopt;
  std::vector<std::string> ranks;
  while (true) {
    for (Room& room : rooms) {
      if (room.ranks == 0) continue;
      --room.ranks;
      ranks.push_back(*room.id);
      if (static_cast<int32_t>(ranks.size()) == gang.nodes) return ranks;
    }
  }
}

std::vector<std::string> Take(const std::string& worker_id, const RankShape& shape,
                              std::vector<WorkerRoom>* workers) {
  const auto worker = std::find_if(workers->begin(), workers->end(), [&worker_id](const WorkerRoom& room) {
    return room.worker_id == worker_id;
  });
  if (worker == workers->end()) return {};
  worker->free_slots -= shape.slots;
  worker->free_cpus -= shape.cpus;
  worker->free_memory_gib -= shape.memory_gib;
  std::vector<std::string> gpus = ChooseGpus(*worker, shape);
  TakeGpus(gpus, shape.gpu_share, &*worker);
  return gpus;
}

void TakeGpus(const std::vector<std::string>& ids, double share, WorkerRoom* worker) {
  for (GpuRoom& gpu : worker->gpus) {
    if (std::find(ids.begin(), ids.end(), gpu.id) == ids.end()) continue;
    ++gpu.ranks;
    gpu.free = share > 0 ? std::max(0.0, gpu.free - share) : 0;
  }
}

}  // namespace winnow
