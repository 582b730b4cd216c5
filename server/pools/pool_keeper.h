#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/task_threads.h"
#include "server/engine/coordinator.h"
#include "server/host/pools/pools_file.h"
#include "server/pools/pool_round.h"
#include "winnow/v1/pools.pb.h"

namespace winnow {

struct PoolKeeperOptions {
  std::vector<DeclaredPool> pools;
  std::string prefix;  // of the names of all allocations of this server
  // Makes a token for the workers of an allocation; null: they need none.
  std::function<absl::StatusOr<PoolToken>(const std::string& allocation)> make_token;
  // Gets what is known of the pools after each round; null: nobody asks.
  std::shared_ptr<PoolStandings> standings;
  // The token, or its new state, holds from now on.
  std::function<void(const TokenRow&)> put_token;
  std::string server;  // the address at which workers reach this server, unless a pool has its own
  std::chrono::milliseconds tick{500};
};

// Grows and shrinks the pools: asks the engines what became of what they were asked for, lets PlanPools
// decide in a batch of the coordinator, in which the decision is recorded, and then does what was decided. It
// is a thread of its own, and each engine is called on another one, so that an engine that hangs delays
// nobody. What it does can be killed at any point: the next server goes on.
class PoolKeeper {
 public:
  // `coordinator` outlives it.
  PoolKeeper(Coordinator& coordinator, PoolKeeperOptions options);
  ~PoolKeeper();
  // Begins. REQUIRES no call yet.
  void Start(std::string server);

  // Nothing is asked or submitted any more, but for calls that are under way. What was submitted stays: the
  // next server goes on with it. Returns at once.
  void AnnounceStop();
  // And waits for those calls.
  void Stop();

  // Thread-safe, as the next. `done` is called on the coordinator's thread.
  void List(std::function<void(absl::StatusOr<v1::ListPoolsResponse>)> done);
  // NOT_FOUND for an unknown pool.
  absl::StatusOr<std::string> Render(const std::string& pool, int32_t nodes) const;

 private:
  // The keeper's thread alone uses what changes.
  struct Engine {
    explicit Engine(const DeclaredPool& declared) : pool(declared) {}
    const DeclaredPool& pool;
    // A task is under way. There is one at a time, so that a List knows what was submitted before.
    bool busy = false;
    PoolOrders orders;                                // that wait for its end
    std::chrono::steady_clock::time_point next_poll;  // not before
    std::optional<std::chrono::milliseconds> rest;    // from the end of the task to the next poll
    TaskThreads thread;
  };
  // What a task of an engine has told.
  struct Answer {
    Engine* engine;
    std::vector<PoolNews> news;
  };

  bool Stopping();
  void Run();
  void Step();
  void TakeAnswers();
  void Share(const PoolOrders& orders);
  // Begins what the engine is to do next, if it is free and there is something.
  void Begin(Engine& engine);
  // These run on the engine's thread.
  void Do(const DeclaredPool& pool, const PoolOrders& orders, std::vector<PoolNews>& news);
  static PoolNews ListAll(const DeclaredPool& pool, const std::vector<AllocationRow>& rows);
  void SubmitAll(const DeclaredPool& pool, const PoolOrders& orders, std::vector<PoolNews>& all);
  PoolNews Submit(const DeclaredPool& pool, std::span<const AllocationRow> batch,
                  const std::map<int64_t, std::string>& secrets);
  AllocationRequest RequestFor(const DeclaredPool& pool, const std::string& name, int64_t number,
                               int32_t nodes, const std::string& secret) const;

  Coordinator& coordinator_;
  const PoolKeeperOptions options_;
  std::string server_;
  std::shared_ptr<PoolBook> book_;   // used on the coordinator's thread alone
  std::vector<AllocationRow> open_;  // as of the newest round; the thread's own, as the next two
  std::vector<PoolNews> news_;       // that no round has taken yet
  bool failed_ = false;              // the newest round was not recorded
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Engine>> engines_;
  std::thread thread_;
};

}  // namespace winnow
