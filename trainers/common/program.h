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

// The process of a built-in trainer: its error messages, and its reaction to SIGTERM. One per process.
class TrainerMain {
 public:
  // Handles SIGTERM from now on. REQUIRES: the name lives as long as the process.
  explicit TrainerMain(const char* name);

  // Each prints one line on standard error and returns the process's exit code.
  int Fail(const absl::Status& status) const;
  int Usage(const std::string& problem) const;

  // Calls train with the request, if there is one, as the rank that the environment names, alone if it names
  // none, and returns the exit code. `stop` becomes true on SIGTERM. Rank 0 prints the warnings. On SIGTERM
  // before all ranks have come, exits at once: successfully if there are checkpoints, because then nothing is
  // lost.
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
  using Training = std::function<absl::Status(Communicator* ranks, const std::atomic<bool>& stop)>;
  int TrainAsRank(bool has_checkpoints, const std::vector<std::string>& warnings,
                  const Training& train) const;

  const char* const name_;
};

}  // namespace winnow
