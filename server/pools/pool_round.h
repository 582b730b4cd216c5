#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/pools.h"
#include "server/engine/engine.h"
#include "server/host/pools/pool.h"
#include "server/host/pools/pools_file.h"
#include "server/pools/pool_standings.h"
#include "store/allocations.h"
#include "store/tokens.h"
#include "winnow/v1/pools.pb.h"

namespace winnow {

// A token for the workers of an allocation.
struct PoolToken {
  TokenRow row;
  std::string secret;
};

// What a call to an engine has told.
struct PoolNews {
  std::string pool;
  // List: the numbers that were asked for, and what is known of them.
  bool listed = false;
  std::set<int64_t> asked = {};
  std::vector<Allocation> allocations = {};
  std::map<std::string, std::string> last_words = {};  // by name
  // Submit: the numbers of the batch, and the ids.
  std::vector<int64_t> submitted = {};
  std::vector<std::string> ids = {};
  // Cancel: `status` says whether the engine did it.
  bool cancelled = false;
  absl::Status status = absl::OkStatus();
};

// Adds a list in the place of an earlier one of the pool, which no round has taken yet because nothing can be
// recorded.
void AddList(PoolNews list, std::vector<PoolNews>& news);

// What is to be done after the round was committed.
struct PoolOrders {
  std::vector<AllocationRow> submit;
  std::map<int64_t, std::string> secrets;  // of these, by number
  std::vector<AllocationRow> cancel;
  std::vector<AllocationRow> forget;  // they have ended
  std::vector<AllocationRow>
      leftovers;                 // they ended before the server's start, and may have been not forgotten
  std::vector<TokenRow> tokens;  // new, or revoked
  std::vector<AllocationRow>
      open;  // what to ask for: all that have not ended, and those that may turn up again
};

// What is known of the pools beside the tables, and the rounds of decisions. Owner: the coordinator thread.
class PoolBook {
 public:
  using MakeToken = std::function<absl::StatusOr<PoolToken>(const std::string&)>;
  PoolBook(std::vector<DeclaredPool> pools, std::string prefix, MakeToken make_token,
           std::shared_ptr<PoolStandings> standings)
      : pools_(std::move(pools)),
        prefix_(std::move(prefix)),
        make_token_(std::move(make_token)),
        told_(std::move(standings)) {}

  // Records the news, decides, and records what was decided. An error: the batch is not to be committed.
  // `anew`: the round before was not recorded, for whatever reason.
  absl::StatusOr<PoolOrders> Round(winnow::Engine& engine, const std::vector<PoolNews>& news, bool anew);
  absl::StatusOr<v1::ListPoolsResponse> List(winnow::Engine& engine);

 private:
  struct Standing {
    std::string engine_error;     // why the engine could not be asked; "": it could
    std::string keeps;            // why the engine did not give allocations back; "": it did
    std::string waits;            // PoolsPlan::waits
    int64_t paused_until_us = 0;  // PoolPausedUntil
    int64_t not_before_us = 0;    // PoolLimits::not_before_us, in Clock::steady_us
    int64_t pause_us = 0;         // the newest such pause
    std::string refusal;          // what the engine said then
    // Webhooks were told that the engine does not answer, or refuses, and since then it has not done better.
    bool told_silent = false, told_refuses = false;
  };
  // What is known of an open allocation since the server's start. Times are of Clock::steady_us.
  struct Watch {
    int64_t seen_us = 0;   // when it was first seen by this server, or last submitted without an answer
    int64_t short_us = 0;  // since when it runs with fewer workers than nodes
    int64_t unneeded_us = 0;
    int64_t cancelled_us = 0;  // when the engine was last told
    int absences = 0;          // newest Lists in a row that did not have it
  };

  // An allocation that has ended, but may turn up at its engine again: a lost answer may be late, and an
  // engine that was restarted, or could not start it, may put it back into its queue.
  struct Departed {
    AllocationRow row;
    int64_t until_us = 0;      // in Clock::steady_us; the engine is asked for it at least once after that
    int64_t cancelled_us = 0;  // when the engine was last told to end it
  };

  void TellBroken(winnow::Engine& engine, const PoolNews& news);
  AllocationTable& TableOf(winnow::Engine& engine);
  // Reads what is known of allocations from the tables.
  absl::Status Load(winnow::Engine& engine);
  void CancelDeparted(winnow::Engine& engine, const PoolNews& news, PoolOrders& orders);
  // The engine has, or had, started it: a worker has come, or the engine says so.
  void Begin(winnow::Engine& engine, AllocationRow& row) const;
  // The gangs of a job that all pools and workers could hold, and one more.
  int64_t MostGangs(winnow::Engine& engine) const;
  void WatchWorkers(winnow::Engine& engine);
  static void DrainNewcomers(winnow::Engine& engine, const AllocationRow& row);
  // The names that its workers have or may have.
  static std::set<std::string> NamesOf(winnow::Engine& engine, const AllocationRow& row);
  // Its nodes of which a worker has come.
  static int32_t JoinedOf(winnow::Engine& engine, const AllocationRow& row);
  absl::Status TakeNews(winnow::Engine& engine, const PoolNews& news, PoolOrders& orders);
  absl::Status TakeSubmitted(winnow::Engine& engine, const PoolNews& news, PoolOrders& orders);
  absl::Status TakeListed(winnow::Engine& engine, const PoolNews& news, PoolOrders& orders);
  absl::Status End(winnow::Engine& engine, AllocationRow& row, const std::string& reason, bool failed,
                   PoolOrders& orders);
  static void ExplainLosses(winnow::Engine& engine, const AllocationRow& row);
  absl::Status Cancel(winnow::Engine& engine, AllocationRow& row, const PoolsPlan::Cancellation& why);
  PoolsInput InputOf(winnow::Engine& engine);
  PoolLimits LimitsOf(winnow::Engine& engine, const DeclaredPool& pool);
  PoolAllocation Observe(winnow::Engine& engine, const AllocationRow& row);
  absl::Status Record(winnow::Engine& engine, const PoolsPlan& plan, PoolOrders& orders);
  absl::Status Tell(winnow::Engine& engine);
  std::string StateReason(const std::string& pool);
  absl::StatusOr<v1::Pool> Message(winnow::Engine& engine, const DeclaredPool& pool);
  absl::StatusOr<AllocationSum> SumOf(winnow::Engine& engine, const std::string& pool);

  const std::vector<DeclaredPool> pools_;
  const std::string prefix_;
  const MakeToken make_token_;
  const std::shared_ptr<PoolStandings> told_;       // may be null
  bool begun_ = false;                              // a round was held
  int64_t begun_us_ = 0;                            // when the first was
  int64_t tidied_us_ = 0;                           // when tokens were last removed; 0: never
  std::unique_ptr<AllocationTable> table_;          // made at first use
  std::map<std::string, Standing> standings_;       // by pool
  std::optional<std::vector<AllocationSum>> sums_;  // absent: an allocation has ended since they were read
  std::map<int64_t, Watch> watches_;                // by number
  std::map<int64_t, Departed> departed_;            // by number
  std::vector<AllocationRow> open_;  // by number; those that ended in the newest round among them
  // By pool, the newest ones that have ended, the newest first.
  std::map<std::string, std::map<int64_t, AllocationRow, std::greater<>>> ended_;
  std::map<std::string, int64_t>
      idle_since_us_;  // of the workers that held nothing in the newest round, by id
};

// What the worker of a fresh node of the pool offers, as it is declared.
WorkerRoom DeclaredRoom(const PoolSettings& pool);
// The rooms of all nodes that the pools may have.
std::vector<WorkerRoom> DeclaredRooms(const std::vector<DeclaredPool>& pools);

}  // namespace winnow
