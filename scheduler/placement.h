#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace winnow {

struct WorkerRoom {
  std::string worker_id;
  int32_t free_slots = 0;
  std::string storage_id;  // workers with the same one share checkpoints
};

struct GangRequest {
  int32_t nodes = 1;
  std::string storage_id;  // where the trial's checkpoint is; "": it has none
  std::string worker_id;   // where rank 0 ran before; "": nowhere
};

// The worker of each rank, all or nothing: absent if the free slots do not hold the whole gang. Workers that
// share the checkpoint's storage come first, then the one that ran it before, then those with most free
// slots; ranks are spread over distinct workers as long as there are any. Deterministic: ties by worker id.
std::optional<std::vector<std::string>> Place(const std::vector<WorkerRoom>& workers,
                                              const GangRequest& gang);

}  // namespace winnow
