#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// Carries Sync calls to the server.
class SyncClient {
 public:
  // Called on any thread, exactly once per call. The response counts only if the status is OK.
  using Done = std::function<void(absl::Status, v1::SyncResponse)>;

  virtual ~SyncClient() = default;
  // Starts a call and returns at once. REQUIRES: `number` is new.
  virtual void Sync(uint64_t number, const v1::SyncRequest& request, std::chrono::milliseconds timeout,
                    Done done) = 0;
  // Ends a pending call with CANCELLED.
  virtual void Cancel(uint64_t number) = 0;
};

}  // namespace winnow
