#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/engine/batches.h"
#include "server/engine/engine.h"
#include "store/database/faults/commit_hook.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/sim_database.h"

namespace winnow {

// The server without its threads and transport: the real engine over the real store, in batches at random
// times, with models asked by delayed events. It dies at any moment, even during a batch, and restarts from
// what is stored.
class SimServer : private CommitHook {
 public:
  using Reply = std::function<void(absl::StatusOr<v1::SyncResponse>)>;
  enum class Death { kAtOnce, kBeforeCommit, kAfterCommit };  // the latter two: at the next batch

  SimServer(Setting* setting, SimDatabase* database);
  ~SimServer() override;

  // REQUIRES: it is not up.
  void Start();
  bool up() const { return engine_ != nullptr; }
  void Die(Death death, int64_t down_us);
  void Stall(int64_t us);
  void JumpClock(int64_t us) { clock_skew_us_ += us; }
  void FailNextCommit() { fail_commit_ = true; }
  // No transaction can use more room from now on.
  void FillDisk(bool full);
  void Heal();

  // A request has arrived; `reply` may be called later, or never.
  void Deliver(const v1::SyncRequest& request, const Reply& reply);
  // OK: committed. Not called if the server dies.
  void Use(std::function<void(Engine&)> run, std::function<void(const absl::Status&)> complete);

  // Called after every commit.
  std::function<void(Engine&)> on_commit;
  int64_t batches() const { return batches_; }

 private:
  struct Thinking;  // the model of one job

  // To which the token of the host's worker is bound.
  std::vector<std::string> ProjectsOf(const std::string& worker) const;
  void Plan();
  void Turn(uint64_t life);
  bool DieInBatch(std::deque<UseCase>& batch);
  void Follow(const Engine::Effects& effects);
  void Ask(const Question& question);
  std::deque<UseCase> Join(const std::vector<Question>& questions);
  UseCase AnswerOf(const Question& question);
  void Think(uint64_t life, int64_t job, int64_t epoch);
  void Drop(int64_t down_us);
  CommitFate FateOf() override;
  void Committed() override { setting_->ledger.Committed(); }

  Setting* const setting_;
  SimDatabase* const database_;
  uint64_t life_ = 0;
  int64_t started_us_ = 0;
  int64_t clock_skew_us_ = 0;
  int64_t stalled_until_us_ = 0;
  bool fail_commit_ = false;
  bool full_ = false;
  bool refuses_ = false;          // commits, because the disk is full
  bool silent_ = false;           // it is dying: sends nothing any more
  Death death_ = Death::kAtOnce;  // otherwise: how the next batch ends
  int64_t down_us_ = 0;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batches> batches_of_;
  std::deque<UseCase> queue_;
  VirtualTime::Id turn_ = 0;
  std::map<int64_t, std::unique_ptr<Thinking>> models_;
  int64_t batches_ = 0;
};

}  // namespace winnow
