#pragma once

#include <string>
#include <utility>

#include "server/host/pools/pilot_files.h"

namespace winnow {

// A pool whose allocations have folders in a directory that all nodes see.
class PilotPool : public Pool {
 public:
  absl::Status Forget(const AllocationKey& allocation) override { return files_.Remove(allocation.name); }
  std::string LastWords(const AllocationKey& allocation) override {
    return files_.LastWords(allocation.name);
  }

 protected:
  explicit PilotPool(PilotFiles files) : files_(std::move(files)) {}
  const PilotFiles& files() const { return files_; }

 private:
  const PilotFiles files_;
};

}  // namespace winnow
