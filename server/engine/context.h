#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/placement.h"
#include "server/engine/projects/project_book.h"
#include "server/engine/suggester.h"
#include "store/store.h"

namespace winnow {

namespace v1 {
class Event;
class RankCredentials;
}  // namespace v1
class BlobIndex;
class Metrics;
struct Context;

// Where time comes from; tests advance it themselves.
struct Clock {
  std::function<int64_t()> wall_us;    // since the Unix epoch: what is recorded
  std::function<int64_t()> steady_us;  // never jumps: leases and holds
  static Clock System();
};

// Deadlines by kind and subject. Times are of Clock::steady_us.
class Deadlines {
 public:
  enum class Kind {
    kLease,        // of a worker
    kHold,         // a held Sync
    kWallTime,     // of a job
    kNodeTime,     // of a job
    kCost,         // likewise
    kClientLease,  // of an attempt that a client trains
    kSuggestCall,  // a held SuggestTrials, by ticket
    kQuarantine,   // of a worker's name
    kAuditAge,     // when old entries of the audit log are looked for
    kJobAge,       // likewise for jobs that are not kept any longer
    kRemoval,      // when the next rows of deleted jobs are removed
    kNodeHours,    // when node-hours of a month are used up, or begin anew
  };
  using Key = std::pair<Kind, std::string>;

  void Set(Kind kind, const std::string& subject, int64_t at);
  void Clear(Kind kind, const std::string& subject);
  std::optional<int64_t> next() const;
  std::optional<int64_t> At(Kind kind, const std::string& subject) const;
  // Removes and returns those at or before `now`, earliest first.
  std::vector<Key> TakeDue(int64_t now);

 private:
  std::map<Key, int64_t> at_;
  std::set<std::pair<int64_t, Key>> order_;
};

// Which gangs encrypt what their ranks tell each other.
enum class RankTls { kNever, kAcrossHosts, kAlways };

struct EngineOptions {
  int64_t lease_us = 15'000'000;
  // A worker that was lost, or failed to start a rank, this often within `quarantine_window` leases is given
  // nothing for `quarantine_time` leases.
  int quarantine_after = 3;
  int64_t quarantine_window = 40;
  int64_t quarantine_time = 20;
  // Parts that take less on average are placed ahead, on workers whose slots are all taken (Dispatch).
  int64_t short_part_us = 100'000;
  Clock clock = Clock::System();
  std::function<uint64_t()> random_bits;  // for fencing tokens; default: the system's random device
  std::vector<WorkerRoom> declared;       // machines that may come: jobs that fit them are accepted
  ModelFactory make_model;                // default: the job's own (scheduler/suggest.h)
  int model_threads = 1;                  // that ask the search models; see SuggestionThreads
  ProjectRules projects = {};
  RankTls rank_tls = RankTls::kNever;
  // Makes the credentials of all ranks of a job's trial's attempt. REQUIRED unless rank_tls is kNever.
  std::function<absl::StatusOr<std::vector<v1::RankCredentials>>(const std::string& job, int64_t trial,
                                                                 int64_t attempt, int32_t ranks)>
      issue_credentials;
  int64_t audit_keep_us = 0;     // entries of the audit log are removed when older; 0: never
  int64_t jobs_keep_us = 0;      // jobs are deleted so long after their end; 0: never
  int64_t jobs_keep_number = 0;  // of each project so many ended jobs are kept, the newest; 0: all
  int64_t jobs_keep_bytes = 0;   // ended jobs are deleted while jobs have stored more than that; 0: never
  BlobIndex* blobs = nullptr;    // the artifact store's; null: there is none
  Metrics* metrics = nullptr;    // outlives the engine; null: nothing is measured
  // Is called in a batch with each event that webhooks get; null: there are none.
  std::function<void(Context&, const v1::Event&)> tell;
};

// What all parts of the engine share. Owner: the coordinator thread.
struct Context {
  Context(Store& store, EngineOptions options);

  Store& store;
  EngineOptions options;
  Deadlines deadlines;
  std::string database;   // its identity, which is in the marks of jobs
  int64_t deletions = 0;  // another number after each job that is deleted

  // After the first access to the tables that failed, the batch is rolled back and nothing of it is
  // acknowledged.
  void Note(const absl::Status& status) {
    if (failure_.ok()) failure_ = status;
  }
  template <typename T>
  T Note(absl::StatusOr<T> value, T otherwise = T()) {
    if (value.ok()) return *std::move(value);
    Note(value.status());
    return otherwise;
  }
  const absl::Status& failure() const { return failure_; }
  void ForgetFailure() { failure_ = absl::OkStatus(); }

  // `event` lacks its time.
  void Tell(const v1::Event& event) {
    if (options.tell) options.tell(*this, event);
  }
  // The topic (see Hub) is published once the batch is committed.
  void Publish(const std::string& topic) { topics_.insert(topic); }
  std::set<std::string> TakeTopics() { return std::exchange(topics_, {}); }

  // Names the job among those of all databases: an id is never used twice in one.
  std::string MarkOf(const std::string& job) const { return database + "-" + job; }
  // The id of the job that a mark names; "": one of another database.
  std::string JobOf(const std::string& mark) const {
    return mark.starts_with(database + "-") ? mark.substr(database.size() + 1) : "";
  }

  int64_t wall_us() const { return options.clock.wall_us(); }
  int64_t steady_us() const { return options.clock.steady_us(); }

 private:
  absl::Status failure_;
  std::set<std::string> topics_;
};

}  // namespace winnow
