#include "scheduler/preemption.h"

#include <algorithm>
#include <tuple>

#include "base/mutant.h"

namespace winnow {
namespace {

// REQUIRES rooms in order of their workers' ids.
void GiveBack(const RunningTrial& trial, std::vector<WorkerRoom>& rooms) {
  for (const RankPlace& rank : trial.ranks) {
    const auto room = std::lower_bound(
        rooms.begin(), rooms.end(), rank.worker,
        [](const WorkerRoom& worker, const std::string& id) { return worker.worker_id < id; });
    if (room == rooms.end() || room->worker_id != rank.worker) continue;
    room->free_slots += trial.shape.slots;
    room->free_cpus += trial.shape.cpus;
    room->free_memory_gib += trial.shape.memory_gib;
    for (GpuRoom& gpu : room->gpus) {
      if (std::find(rank.gpus.begin(), rank.gpus.end(), gpu.id) == rank.gpus.end()) continue;
      gpu.ranks = std::max(0, gpu.ranks - 1);
      gpu.free = gpu.ranks == 0 ? 1 : std::min(1.0, gpu.free + trial.shape.gpu_share);
    }
  }
}

}  // namespace

std::vector<WorkerRoom> WithoutTrials(std::vector<WorkerRoom> rooms,
                                      const std::vector<RunningTrial>& trials) {
  for (const RunningTrial& trial : trials) GiveBack(trial, rooms);
  return rooms;
}

std::vector<size_t> TrialsToPreempt(const std::vector<WorkerRoom>& rooms,
                                    const std::vector<RunningTrial>& running, const GangRequest& gang,
                                    int32_t job_class, const Reservation& reserved) {
  std::vector<WorkerRoom> kept;
  std::copy_if(rooms.begin(), rooms.end(), std::back_inserter(kept),
               [&reserved](const WorkerRoom& room) { return reserved.count(room.worker_id) > 0; });
  std::vector<size_t> candidates;
  for (size_t i = 0; i < running.size(); ++i) {
    const RunningTrial& trial = running[i];
    if (trial.stopping) {
      GiveBack(trial, kept);
      continue;
    }
    const bool lower = trial.job_class < job_class || WINNOW_MUTANT("trials of an equal class are preempted");
    const bool there = std::any_of(trial.ranks.begin(), trial.ranks.end(),
                                   [&](const RankPlace& rank) { return reserved.count(rank.worker) > 0; });
    if (lower && there) candidates.push_back(i);
  }
  const auto fits = [&](const std::vector<size_t>& stopped) {
    std::vector<WorkerRoom> then = kept;
    for (const size_t i : stopped) GiveBack(running[i], then);
    return Place(then, gang).has_value();
  };
  if (fits({})) return {};
  std::sort(candidates.begin(), candidates.end(), [&](size_t a, size_t b) {
    const RunningTrial &one = running[a], &other = running[b];
    return std::tie(one.job_class, other.started_us, one.job, one.trial) <
           std::tie(other.job_class, one.started_us, other.job, other.trial);
  });
  std::vector<size_t> stopped;
  for (const size_t candidate : candidates) {
    if (fits(stopped)) break;
    stopped.push_back(candidate);
  }
  if (!fits(stopped)) return {};
  // Without those that later ones made unnecessary, the first to be spared being the last to be stopped.
  for (size_t i = stopped.size(); i-- > 0;) {
    std::vector<size_t> fewer = stopped;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (fits(fewer)) stopped = std::move(fewer);
  }
  return stopped;
}

}  // namespace winnow
