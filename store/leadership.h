#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "store/database/postgres_database.h"

namespace winnow {

// The server that leads, as one that waits sees it.
struct OtherLeader {
  std::string address = {};                // where it listens; "": not known
  std::chrono::milliseconds silence = {};  // since it was heard of last
};

// Makes this process the one server that writes to a PostgreSQL database.
//
// The leader holds an advisory lock of its session, which PostgreSQL releases when the process ends, and
// counts up `beats`. A server that waits takes the lock once it is free; if it is held but nothing is counted
// for kSilence of its own clock, because the leader was stopped or cut off, it first ends the leader's
// sessions. Taking over counts up `epoch`, which every transaction that writes checks
// (PostgresDatabase::Fence): what an earlier leader still sends fails.
class Leadership {
 public:
  // Tables and lock exist once for each schema. Waits for the lock; calls `waiting` many times a second as
  // long as it must wait. Migrates the tables. CANCELLED: `stop` returned true while it waited.
  static absl::StatusOr<std::unique_ptr<Leadership>> Take(
      const std::string& address, const std::function<void(const OtherLeader&)>& waiting,
      const std::function<bool()>& stop);
  // FAILED_PRECONDITION: another process has the lock.
  static absl::StatusOr<std::unique_ptr<Leadership>> TakeAtOnce(const std::string& address);
  ~Leadership();

  // Fences the connection, by which this server is to write.
  absl::Status Guard(Database& database);
  int64_t epoch() const { return epoch_; }
  // Tells the servers that wait where this one listens.
  void Tell(const std::string& address);
  // Begins to count beats. `lost` is called once, on a thread of its own, when another server leads.
  void Keep(std::function<void(const absl::Status&)> lost);

 private:
  explicit Leadership(std::unique_ptr<PostgresDatabase> database) : database_(std::move(database)) {}
  absl::StatusOr<bool> TryLock();
  // Ends the sessions of the leader, whoever it is.
  absl::Status EndLeader();
  // REQUIRES: the lock.
  absl::Status Lead();
  // Not OK: another server leads. Without a connection it is OK: nobody can write then.
  absl::Status Beat(const std::string& address);

  std::unique_ptr<PostgresDatabase> database_;
  int64_t epoch_ = 0;
  std::string name_;  // of its sessions
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::string address_ ABSL_GUARDED_BY(mutex_) = {};
  bool told_ ABSL_GUARDED_BY(mutex_) = true;  // address_
  std::thread thread_;
};

}  // namespace winnow
