#include "store/leadership.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "store/migrations.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kBeatEvery{500};
// Without a beat for this long a leader has been stopped or cut off.
constexpr milliseconds kSilence{2'000};
constexpr milliseconds kTryEvery{100};
// The first half of the lock's key; the second tells the schemas of a database apart.
constexpr char kLock[] = "SELECT pg_try_advisory_lock(1464421966, hashtext(COALESCE(current_schema(), '')))";

// The row has no address if a server of an earlier version made it.
constexpr char kHear[] = "SELECT beats, COALESCE(to_jsonb(leader_beats) ->> 'address', '') FROM leader_beats";

// The name of the leader's sessions, which PostgreSQL shows, and by which those of a silent leader are found.
// It has the schema, as the lock does, because two Winnows may share a database.
constexpr char kNameOfLeader[] =
    "SELECT 'winnow-server leader of ' || hashtext(COALESCE(current_schema(), '')) || ', epoch ' || epoch"
    " FROM leader";

}  // namespace

absl::StatusOr<bool> Leadership::TryLock() {
  absl::StatusOr<int64_t> locked = database_->QueryInt(kLock);
  if (!locked.ok()) return locked.status();
  return *locked != 0;
}

absl::Status Leadership::EndLeader() {
  return database_->Execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity, leader WHERE datname = current_database()"
      " AND application_name IN ((" +
      std::string(kNameOfLeader) +
      "), 'winnow-server leader ' || epoch)"  // the latter: of earlier versions
      " AND pid <> pg_backend_pid()");
}

absl::Status Leadership::Lead() {
  absl::Status status = winnow::Migrate(*database_);
  // Sessions whose lock was lost, such as one that stands in the middle of a transaction.
  if (status.ok()) status = EndLeader();
  if (!status.ok()) return status;
  const absl::StatusOr<std::vector<std::string>> columns = database_->Columns("leader_beats");
  if (!columns.ok()) return columns.status();
  if (std::count(columns->begin(), columns->end(), "address") == 0) {
    status = database_->Execute("ALTER TABLE leader_beats ADD COLUMN address TEXT NOT NULL DEFAULT ''");
    if (!status.ok()) return status;
  }
  Statement next(*database_, "UPDATE leader SET epoch = epoch + 1 RETURNING epoch");
  absl::StatusOr<bool> row = next.Bind().Next();
  if (!row.ok()) return row.status();
  if (!*row) return absl::DataLossError(database_->file() + ": the row of table leader is missing");
  epoch_ = next.Int(0);
  next.Reset();
  // That of the former leader.
  if (status = database_->Execute("UPDATE leader_beats SET address = ''"); !status.ok()) return status;
  Statement name(*database_, kNameOfLeader);
  row = name.Bind().Next();
  if (!row.ok()) return row.status();
  name_ = name.Text(0);
  name.Reset();
  return database_->SetName(name_);
}

absl::StatusOr<std::unique_ptr<Leadership>> Leadership::Take(
    const std::string& address, const std::function<void(const OtherLeader&)>& waiting,
    const std::function<bool()>& stop) {
  absl::StatusOr<std::unique_ptr<PostgresDatabase>> database =
      PostgresDatabase::Open(address, OpenMode::kReadWrite);
  if (!database.ok()) return database.status();
  std::unique_ptr<Leadership> leadership(new Leadership(*std::move(database)));
  PostgresDatabase& connection = *leadership->database_;
  int64_t beats = -1;
  std::string other;
  bool told = false;
  milliseconds pause{1};  // PostgreSQL may need a moment to notice that the former leader's process has ended
  steady_clock::time_point heard = steady_clock::now();
  while (!stop()) {
    absl::StatusOr<bool> locked = leadership->TryLock();
    absl::Status status = locked.status();
    if (status.ok() && *locked) {
      status = leadership->Lead();
      if (status.ok()) return leadership;
    } else if (status.ok()) {
      told = true;
      // Before the first migration there is no such table.
      Statement hear(connection, kHear);
      const absl::StatusOr<bool> row = hear.Bind().Next();
      if (absl::IsFailedPrecondition(row.status())) return row.status();  // no right to read it
      if (row.ok() && *row) {
        other = hear.Text(1);
        if (hear.Int(0) != beats) {
          beats = hear.Int(0);
          heard = steady_clock::now();
        } else if (steady_clock::now() - heard > kSilence) {
          heard = steady_clock::now();
          status = leadership->EndLeader();
        }
      }
    }
    if (told) {
      const auto silence = steady_clock::now() - heard;
      waiting({other, std::chrono::duration_cast<milliseconds>(silence)});
    }
    // A server that stops or starts is waited for once this one has waited; else it is an error to be told.
    if (!status.ok() && !(told && absl::IsUnavailable(status))) return status;
    if (!status.ok()) heard = steady_clock::now();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kTryEvery);
  }
  return absl::CancelledError("stopped while it waited to lead");
}

absl::StatusOr<std::unique_ptr<Leadership>> Leadership::TakeAtOnce(const std::string& address) {
  bool waited = false;
  absl::StatusOr<std::unique_ptr<Leadership>> taken = Take(
      address, [&](const OtherLeader&) { waited = true; }, [&] { return waited; });
  if (!waited) return taken;
  return absl::FailedPreconditionError(address + " is in use by a winnow-server; stop it first");
}

absl::Status Leadership::Guard(Database& database) {
  auto& connection = dynamic_cast<PostgresDatabase&>(database);
  absl::Status status = connection.SetName(name_);
  return status.ok() ? connection.Fence(epoch_) : status;
}

Leadership::~Leadership() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyOne();
  if (thread_.joinable()) thread_.join();
}

void Leadership::Tell(const std::string& address) {
  {
    MutexLock lock(mutex_);
    address_ = address;
    told_ = false;
  }
  changed_.NotifyOne();
}

void Leadership::Keep(std::function<void(const absl::Status&)> lost) {
  thread_ = std::thread([this, lost = std::move(lost)] {
    MutexLock lock(mutex_);
    while (!stopping_) {
      const std::string address = address_;
      told_ = true;
      lock.Unlock();
      if (absl::Status status = Beat(address); !status.ok()) return lost(status);
      lock.Lock();
      const steady_clock::time_point next = steady_clock::now() + kBeatEvery;
      while (!stopping_ && told_ && changed_.WaitUntil(mutex_, next)) {
      }
    }
  });
}

absl::Status Leadership::Beat(const std::string& address) {
  const absl::StatusOr<bool> locked = TryLock();  // again, for a connection that was made anew
  if (!locked.ok()) return absl::OkStatus();
  // A beat may be lost with PostgreSQL, and waits neither for its disk nor for its standby.
  if (!database_->Execute("SET synchronous_commit = off").ok()) return absl::OkStatus();
  Statement beat(*database_,
                 "UPDATE leader_beats SET beats = beats + 1, address = ?2"
                 " WHERE (SELECT epoch FROM leader) = ?1");
  if (!beat.Bind(epoch_, address).Run().ok() || database_->changes() > 0) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("{}: another winnow-server leads this database now", database_->file()));
}

}  // namespace winnow
