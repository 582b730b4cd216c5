#pragma once

#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"

namespace winnow {

// The process of a built-in trainer: what it says of failure, and what SIGTERM does. One per process.
class TrainerMain {
 public:
  // As one rank; `stop` becomes true when the process is told to stop.
  using Training = std::function<absl::Status(Communicator* ranks, const std::atomic<bool>& stop)>;

  // SIGTERM is heeded from now on. REQUIRES: the name lives as long as the process.
  explicit TrainerMain(const char* name);

  // Each prints one line on standard error and gives the process's exit code.
  int Fail(const absl::Status& status) const;
  int Usage(const std::string& problem) const;

  // Trains as the rank that the environment says this process is, alone where it says nothing, and gives the
  // exit code. Rank 0 prints the warnings. Told to stop while other ranks have not come, it ends at once: as
  // a success where there are checkpoints, for then nothing is lost.
  int TrainAsRank(bool has_checkpoints, const std::vector<std::string>& warnings,
                  const Training& train) const;

  // The same of what `train` does with a request, if there is one.
  template <typename Request>
  int Train(const absl::StatusOr<Request>& request, const std::vector<std::string>& warnings,
            absl::Status (*train)(const Request& request, Communicator* ranks, const std::atomic<bool>& stop,
                                  std::FILE* out, std::FILE* err)) const {
    if (!request.ok()) return Fail(request.status());
    return TrainAsRank(!request->checkpoint_folder.empty(), warnings,
                       [&](Communicator* ranks, const std::atomic<bool>& stop) {
                         return train(*request, ranks, stop, stdout, stderr);
                       });
  }

 private:
  const char* const name_;
};

}  // namespace winnow
