#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "trainers/common/train_files.h"
#include "trainers/data/cache/file_handle.h"

namespace winnow {

// The data of channels with "mode": "pipe" in memory. A FIFO can be read once, and readers look at a file
// more than once.
class PipedFiles {
 public:
  // Reads the first FIFO of each piped channel to its end, and lets the channel's path name the memory.
  // Errors name the channel.
  static absl::StatusOr<PipedFiles> Read(TrainFiles* files);

 private:
  std::vector<FileHandle> memory_;  // freed with this
};

}  // namespace winnow
