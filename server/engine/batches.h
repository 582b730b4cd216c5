#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/engine/engine.h"

namespace winnow {

// `run` is called inside a batch's transaction, then `complete` with the batch's status. If no transaction
// could be begun, or the disk is still full, only `complete` is called.
struct UseCase {
  std::function<void(Engine&)> run;
  std::function<void(const absl::Status&)> complete;
};

// Runs use cases, a batch of them in one transaction: what is answered is committed. Has no threads. Owner:
// the coordinator thread.
class Batches {
 public:
  // Both outlive it. `engine` is loaded. Without `decides` the use cases alone are run: no deadline falls
  // due, and nothing follows from what is recorded.
  Batches(Store& store, Engine& engine, bool decides = true)
      : store_(store), engine_(engine), decides_(decides) {}

  // Deadlines up to `now_us` (Clock::steady_us, when the batch was taken) are part of the batch. Later ones
  // are not, since the process may have been stopped while it ran. OK: committed, and the calls of workers
  // and clients are answered. RESOURCE_EXHAUSTED (full disk) or UNAVAILABLE: nothing of the batch is in the
  // file, held calls were answered UNAVAILABLE, and all state is read anew from the tables once there is
  // room. DATA_LOSS: the tables are damaged or cannot be read any more; nothing may be answered and the
  // process must end. Does not call `complete`.
  absl::Status Run(std::deque<UseCase>& batch, int64_t now_us);

  // Asks search models, and gives the use cases that arrive while the open batch may wait for their answers.
  // They become part of the batch, so that one commit serves what made a search model be asked and its
  // answer.
  using Join = std::function<std::deque<UseCase>(std::vector<Question> questions)>;
  // Without it search models are asked after the commit (Engine::TakeEffects).
  void OnQuestions(Join join) { join_ = std::move(join); }

  // `reload` reads anew what is kept elsewhere of the tables. It is called after the engine's state was read
  // anew, before the batch's use cases; errors are those of Engine::Load.
  void OnReload(std::function<absl::Status()> reload) { reload_ = std::move(reload); }

  // The process did not run for a good part of a lease and received nothing meanwhile: the next batch that is
  // recorded renews all leases before it looks for those that have run out. Run does the same after a batch
  // whose transaction could not be begun, such as while PostgreSQL has no primary.
  void StoodStill() { stood_still_ = true; }

  // When to run a batch although nobody calls, in Clock::steady_us.
  std::optional<int64_t> next_deadline() const;

 private:
  absl::Status CatchUp();
  // Asks search models and runs what joins the batch meanwhile.
  absl::Status RunJoining(std::deque<UseCase>& batch);

  Store& store_;
  Engine& engine_;
  const bool decides_;
  Join join_;
  std::function<absl::Status()> reload_;
  bool behind_ = false;       // memory may differ from the tables: it is to be loaded anew
  bool refused_ = false;      // the last batch was not recorded
  bool stood_still_ = false;  // nobody was heard for a while: leases are to be renewed
  int64_t retry_us_ = 0;      // then, when to look again although nobody calls
};

}  // namespace winnow
