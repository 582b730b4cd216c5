#include "scheduler/reservation.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace winnow {
namespace {

struct Candidate {
  const std::string* id;
  const std::string* loopback_of;
  int64_t free = 0;   // ranks that it has room for now
  int64_t whole = 0;  // and were it empty
};

// Ranks of the gang for which the set has no room yet; -1: it never will.
int64_t Lacks(const std::vector<Candidate>& candidates, const Reservation& set, int32_t nodes) {
  int64_t free = 0, whole = 0;
  for (const Candidate& candidate : candidates) {
    if (set.count(*candidate.id) == 0) continue;
    free += candidate.free;
    whole += candidate.whole;
  }
  return whole < nodes ? -1 : std::max<int64_t>(0, nodes - free);
}

// The first candidates that can reach `of`, as many as would hold the gang. Empty: all of them would not.
Reservation FirstInReach(const std::vector<Candidate>& candidates, const Candidate& of, int32_t nodes) {
  Reservation chosen;
  int64_t held = 0;
  for (const Candidate& candidate : candidates) {
    if (*candidate.loopback_of != *of.loopback_of) continue;
    chosen.insert(*candidate.id);
    held += candidate.whole;
    if (held >= nodes) return chosen;
  }
  return {};
}

}  // namespace

Reservation Reserve(const std::vector<WorkerRoom>& free, const std::vector<WorkerRoom>& whole,
                    const GangRequest& gang, const Reservation& kept) {
  std::map<std::string_view, int64_t> room;
  for (const WorkerRoom& worker : free) room[worker.worker_id] = GangCapacity(worker, gang);
  std::vector<Candidate> candidates;
  for (const WorkerRoom& worker : whole) {
    const int64_t most = GangCapacity(worker, gang);
    if (most <= 0) continue;
    const auto found = room.find(worker.worker_id);
    candidates.push_back(
        {&worker.worker_id, &worker.loopback_of, found == room.end() ? 0 : found->second, most});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(b.free, b.whole, *a.id) < std::tie(a.free, a.whole, *b.id);
  });
  Reservation chosen;
  std::set<std::string_view> tried;
  for (const Candidate& candidate : candidates) {
    if (!tried.insert(*candidate.loopback_of).second) continue;
    Reservation set = FirstInReach(candidates, candidate, gang.nodes);
    if (set.empty()) continue;
    const bool better =
        chosen.empty() || Lacks(candidates, set, gang.nodes) < Lacks(candidates, chosen, gang.nodes);
    if (better) chosen = std::move(set);
  }
  if (chosen.empty()) return {};
  const int64_t kept_lacks = Lacks(candidates, kept, gang.nodes);
  if (kept_lacks < 0 || kept_lacks > Lacks(candidates, chosen, gang.nodes)) return chosen;
  Reservation still;  // those of the kept that have gone, or leave too soon by now, hold nothing for it
  for (const Candidate& candidate : candidates) {
    if (kept.count(*candidate.id) != 0) still.insert(*candidate.id);
  }
  return still;
}

std::vector<WorkerRoom> Unreserved(const std::vector<WorkerRoom>& rooms, const Reservation& reserved) {
  std::vector<WorkerRoom> left;
  std::copy_if(rooms.begin(), rooms.end(), std::back_inserter(left),
               [&reserved](const WorkerRoom& room) { return reserved.count(room.worker_id) == 0; });
  return left;
}

std::vector<WorkerRoom> BesideGpuGang(const std::vector<WorkerRoom>& rooms,
                                      const std::vector<WorkerRoom>& whole, const Reservation& reserved,
                                      const GangRequest& gang) {
  std::vector<WorkerRoom> left = rooms;
  for (WorkerRoom& room : left) {
    if (reserved.count(room.worker_id) == 0) continue;
    const auto empty = std::find_if(whole.begin(), whole.end(), [&room](const WorkerRoom& other) {
      return other.worker_id == room.worker_id;
    });
    const int32_t ranks = empty == whole.end() ? 0 : std::min(gang.nodes, Capacity(*empty, gang.shape));
    room.free_slots -= ranks * gang.shape.slots;
    room.free_cpus -= ranks * gang.shape.cpus;
    room.free_memory_gib -= ranks * gang.shape.memory_gib;
    room.gpus.clear();
  }
  std::erase_if(left, [](const WorkerRoom& room) { return room.free_slots <= 0; });
  return left;
}

}  // namespace winnow
