#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "server/engine/engine.h"

namespace winnow {

// Runs `run` inside a batch's transaction, then `complete` with what became of the batch. If no transaction
// could be begun, or the disk is still full, only `complete`.
struct UseCase {
  std::function<void(Engine&)> run;
  std::function<void(const absl::Status&)> complete;
};

// Use cases, a batch of them inside one transaction: what is answered is committed. Without threads. Owner:
// the coordinator thread.
class Batches {
 public:
  // Both outlive it. `engine` is loaded.
  Batches(Store& store, Engine& engine) : store_(store), engine_(engine) {}

  // What has fallen due by `now_us` (Clock::steady_us, when the batch was taken) is part of it, not what does
  // while it runs: the process may have been stopped there. OK: committed, and workers and clients are
  // answered. Else nothing of it is in the file, callers were told to come again with this status
  // (RESOURCE_EXHAUSTED on a full disk, else UNAVAILABLE), and all state is read anew from the tables once
  // there is room again. DATA_LOSS: the tables are damaged or cannot be read any more, and nothing may be
  // answered: the process must end. Completes nothing by itself.
  absl::Status Run(const std::deque<UseCase>& batch, int64_t now_us);

  // The process was not let run for a good part of a lease, in which nobody was heard: at the next batch no
  // lease has run out, and all begin anew.
  void StoodStill() { stood_still_ = true; }

  // When to run a batch although nobody calls, in Clock::steady_us.
  std::optional<int64_t> next_deadline() const;

 private:
  absl::Status CatchUp();

  Store& store_;
  Engine& engine_;
  bool behind_ = false;   // what engine_ holds was rolled back: it is to be loaded
  bool refused_ = false;  // the last batch was not recorded
  bool stood_still_ = false;
  int64_t retry_us_ = 0;  // then, when to look again although nobody calls
};

}  // namespace winnow
