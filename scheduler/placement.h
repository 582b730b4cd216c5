#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// A GPU of a worker, and what is left of it.
struct GpuRoom {
  std::string id;     // as in CUDA_VISIBLE_DEVICES
  double free = 1;    // 1 minus the parts that ranks share of it; 0: a rank has all of it
  int32_t ranks = 0;  // that use it

  bool operator==(const GpuRoom&) const = default;
};

// What a worker has left for new ranks, and what it is.
struct WorkerRoom {
  std::string worker_id;
  int32_t free_slots = 0;
  std::string storage_id;  // workers with the same one share checkpoints
  std::map<std::string, std::string> labels = {};
  // Not asked for by the ranks it holds; infinity: it did not say how many it has.
  double free_cpus = std::numeric_limits<double>::infinity();
  double free_memory_gib = std::numeric_limits<double>::infinity();
  std::vector<GpuRoom> gpus = {};          // those that new ranks may get, in the worker's order
  int64_t ends_us = 0;                     // when it leaves by itself, since the Unix epoch; 0: not known
  int64_t life_us = 0;                     // from its registration to then
  std::vector<std::string> projects = {};  // whose ranks it may have; empty: all
  bool encrypts = false;                   // its ranks can encrypt what they tell the others of a gang
  // Where alone the worker can be reached, if its host is loopback: ranks of a gang there reach only workers
  // with the same value. "": they reach all others with "".
  std::string loopback_of = {};
};

// What each rank takes of its worker.
struct RankShape {
  int32_t slots = 1;
  double cpus = 0;
  double memory_gib = 0;
  std::map<std::string, std::string> labels = {};  // that the worker must have; "": any value
  int32_t gpus = 0;                                // that no other rank has
  double gpu_share = 0;                 // part of one GPU, above 0 and below 1, in place of `gpus`; 0: none
  std::vector<std::string> pools = {};  // one of which must have the worker; empty: any or none
  std::string project = {};             // of its job; "": the default project
  bool encrypted = false;               // only on workers that encrypt

  bool UsesGpus() const { return gpus > 0 || gpu_share > 0; }
  bool operator==(const RankShape&) const = default;
};

// Where a rank runs.
struct RankPlace {
  std::string worker;
  std::vector<std::string> gpus = {};  // ids of the devices that it has there
};

struct GangRequest {
  int32_t nodes = 1;
  std::string storage_id = {};  // where the trial's checkpoint is; "": it has none
  std::string worker_id = {};   // where rank 0 ran before; "": nowhere
  RankShape shape = {};
  int64_t start_us = 0;  // when it would start, since the Unix epoch
  int64_t takes_us = 0;  // how long it is expected to run; 0: not known
};

// The label of a worker that an engine has started: the name of its pool.
inline constexpr char kPoolLabel[] = "pool";

// How many ranks of that shape the worker has room for.
int32_t Capacity(const WorkerRoom& worker, const RankShape& shape);
// Ranks of the gang for which it has room, and time: 0 if it is expected to leave before the gang has ended.
// A gang that would not end within nine tenths of the whole life of such a worker may start there all the
// same: hardly any worker is that fresh.
int32_t GangCapacity(const WorkerRoom& worker, const GangRequest& gang);
// The most ranks of that shape that they have room for and that can reach each other.
int64_t CapacityOf(const std::vector<WorkerRoom>& workers, const RankShape& shape);

// Whether a worker that is bound to `projects` (empty: to none) may have ranks of that project's jobs.
bool MayRun(const std::vector<std::string>& projects, std::string_view project);

// Whether the worker has the labels, is in one of the pools, may have ranks of the project, and encrypts, as
// the shape asks for.
bool HasLabels(const WorkerRoom& worker, const RankShape& shape);

// The worker of each rank, all or nothing: absent if there is no room for the whole gang. Workers that share
// the checkpoint's storage come first, then the one that ran it before, then those with fewest labels that
// were not asked for, which others may need. Among equals a single rank goes where it leaves least room, so
// that whole workers stay free for wide gangs; the ranks of a gang go to the emptiest, and are spread over
// distinct workers as long as there are any, so that they do not share a host's memory and network. All of
// them can reach each other. Deterministic: ties by worker id.
std::optional<std::vector<std::string>> Place(const std::vector<WorkerRoom>& workers,
                                              const GangRequest& gang);

// Takes a rank's share out of the room of the worker of that id. Returns the ids of the GPUs that are the
// rank's: for whole ones the first that no rank uses; for a part the shared one with the least that is
// enough, so that whole ones stay free, or else the first that no rank uses. REQUIRES room for the rank.
std::vector<std::string> Take(const std::string& worker_id, const RankShape& shape,
                              std::vector<WorkerRoom>* workers);
// Takes these GPUs, or if `share` is above 0 that part of them, out of the room. Unknown ids are ignored.
void TakeGpus(const std::vector<std::string>& ids, double share, WorkerRoom* worker);

}  // namespace winnow
