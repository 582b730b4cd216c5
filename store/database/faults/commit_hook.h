#pragma once

namespace winnow {

class Database;

// What becomes of a transaction that is about to be committed.
enum class CommitFate {
  kCommits,
  kFails,     // nothing of it is committed; on PostgreSQL because the connection is lost first
  kDiskFull,  // on PostgreSQL alone: its server refuses it for want of room
  kUnknown,   // on PostgreSQL alone: it is committed, and the connection is lost before the answer comes
};

// What a simulation hears of the commits of one connection, and does to them. Of transactions that write.
class CommitHook {
 public:
  virtual ~CommitHook() = default;
  // All statements have run: only the answer can still make the commit fail.
  virtual CommitFate FateOf() = 0;
  // It is committed, also if its fate was kUnknown.
  virtual void Committed() = 0;
};

// From now on; nullptr: no more. REQUIRES: `hook` outlives the database, or is taken off.
void HookCommits(Database& database, CommitHook* hook);

}  // namespace winnow
