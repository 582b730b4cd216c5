#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "artifact/folder.h"

namespace winnow {

// The user that a trainer runs as.
struct TrainerUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};  // supplementary groups
  std::string name = "";           // "": none
};

// The value of --run-as: one user for all trainers, or a range with one user for each trial.
class RunAs {
 public:
  // Parses "USER[:GROUP]" (names or numbers) or "FIRST-LAST[:GROUP]" (numbers; by default a user's group has
  // the user's number). INVALID_ARGUMENT names the error and what was expected.
  static absl::StatusOr<RunAs> Parse(const std::string& text);

  bool is_range() const { return count_ > 1; }
  size_t count() const { return count_; }
  TrainerUser user(size_t index) const;
  bool Contains(uid_t uid) const { return uid >= first_.uid && uid - first_.uid < count_; }

 private:
  TrainerUser first_;
  size_t count_ = 1;
  bool own_groups_ = false;
};

// OK if this process may start others as other users, give folders away and kill processes of those users;
// otherwise names the missing capabilities.
absl::Status CheckMayRunAs();

// Returns the first part of the path, from the root, that prevents the user from reading the file (entering
// the folder, connecting to the socket), by owner, group and permissions; empty: none.
std::filesystem::path Obstacle(const TrainerUser& user, const std::filesystem::path& path);

// Makes the calling process the user, without capabilities and ways to regain them. For a child between fork
// and exec: async-signal-safe. False: failed, with errno.
bool BecomeUser(const TrainerUser& user);

// Sends SIGKILL to all processes of the user. REQUIRES: only trainers run as the user.
void EndProcessesOf(const TrainerUser& user);

// Returns the real user of a process; empty: it is gone.
std::optional<uid_t> UserOf(pid_t pid);

// The lease of a user for one trial.
class UserLease {
 public:
  UserLease(UserLease&& other) noexcept;
  UserLease& operator=(UserLease&& other) noexcept;
  // Closes the trial's folder to the user, unless other ranks of the trial on this host still hold the lease.
  ~UserLease();

  const TrainerUser& user() const { return user_; }
  // Whether all processes of the user belong to this lease: the user is the trial's own, and no other rank of
  // the trial is on this host.
  bool IsAlone() const;

 private:
  friend class TrainerUsers;
  UserLease(TrainerUser user, FolderName trial, std::filesystem::path registry, int lock)
      : user_(std::move(user)), trial_(std::move(trial)), registry_(std::move(registry)), lock_(lock) {}

  TrainerUser user_;
  FolderName trial_;
  std::filesystem::path registry_;
  int lock_;  // of the range's user on this host; -1: one user for all
};

// Leases the users of --run-as to trials. A user of a range belongs to one trial at a time on this host, for
// all workers: `registry` is a folder that all workers of the host share, in which a user is a locked file.
// The file also names the folder that is open to the user, so that it is closed before the next trial gets
// the user, even after a worker was killed.
class TrainerUsers {
 public:
  static absl::StatusOr<TrainerUsers> Create(RunAs run_as, const std::filesystem::path& registry);

  const RunAs& run_as() const { return run_as_; }
  // Leases a user to the trial with that folder: the user of its other ranks, otherwise a free one, the same
  // as before if that is free. RESOURCE_EXHAUSTED: none is free.
  absl::StatusOr<UserLease> Take(const FolderName& trial) const;

  // Kills the processes that killed workers left running as users that nobody leases now, and closes the
  // folders of those trials. Returns the number of those users.
  int ReclaimAll() const;

 private:
  TrainerUsers(RunAs run_as, std::filesystem::path registry)
      : run_as_(std::move(run_as)), registry_(std::move(registry)) {}

  RunAs run_as_;
  std::filesystem::path registry_;
};

inline constexpr char kUserRegistry[] = "/var/lib/winnow-trainers";

}  // namespace winnow
