#include "scheduler/placement.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace winnow {

std::optional<std::vector<std::string>> Place(const std::vector<WorkerRoom>& workers,
                                              const GangRequest& gang) {
  std::vector<WorkerRoom> rooms;
  int64_t free_slots = 0;
  for (const WorkerRoom& worker : workers) {
    if (worker.free_slots <= 0) continue;
    rooms.push_back(worker);
    free_slots += worker.free_slots;
  }
  if (gang.nodes < 1 || free_slots < gang.nodes) return std::nullopt;

  const auto order = [&gang](const WorkerRoom& worker) {
    const bool shares = !gang.storage_id.empty() && worker.storage_id == gang.storage_id;
    const bool ran_it = !gang.worker_id.empty() && worker.worker_id == gang.worker_id;
    return std::make_tuple(!shares, !ran_it, -worker.free_slots, std::cref(worker.worker_id));
  };
  std::sort(rooms.begin(), rooms.end(),
            [&order](const WorkerRoom& a, const WorkerRoom& b) { return order(a) < order(b); });
  std::vector<std::string> ranks;
  while (true) {
    for (WorkerRoom& room : rooms) {
      if (room.free_slots == 0) continue;
      --room.free_slots;
      ranks.push_back(room.worker_id);
      if (static_cast<int32_t>(ranks.size()) == gang.nodes) return ranks;
    }
  }
}

}  // namespace winnow
