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

// Whom a trainer runs as.
struct TrainerUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};  // further ones
  std::string name = "";           // "": it has none
};

// What --run-as says: one user for all trainers, or a range from which every trial has one of its own.
class RunAs {
 public:
  // "USER[:GROUP]" (names or numbers) or "FIRST-LAST[:GROUP]" (numbers; without a group, a user's group has the
  // user's number). INVALID_ARGUMENT names what is wrong and what was expected.
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

// Whether this process may start others as other users, give folders away and end what runs as them; else
// which capabilities it lacks.
absl::Status CheckMayRunAs();

// The first part of the path, from the root on, that keeps the user from reading the file there (from entering
// the folder, from connecting to the socket), by owner, group and permissions; empty: nothing does.
std::filesystem::path Obstacle(const TrainerUser& user, const std::filesystem::path& path);

// Makes the calling process the user, with no capability and no way to get one. For a child between fork and
// exec: async-signal-safe. False and errno: it is not.
bool BecomeUser(const TrainerUser& user);

// Sends SIGKILL to all processes of the user. REQUIRES: the user is nobody's but trainers'.
void EndProcessesOf(const TrainerUser& user);

// The real user of a process; empty: it is gone.
std::optional<uid_t> UserOf(pid_t pid);

// One trial's user while it is held.
class UserLease {
 public:
  UserLease(UserLease&& other) noexcept;
  UserLease& operator=(UserLease&& other) noexcept;
  // Closes the trial's folder to the user, unless other ranks of the trial on this host still hold it.
  ~UserLease();

  const TrainerUser& user() const { return user_; }
  // Whether all that runs as the user belongs to this lease: the user is the trial's own, and no other rank of
  // it is on this host.
  bool IsAlone() const;

 private:
  friend class TrainerUsers;
  UserLease(TrainerUser user, FolderName trial, std::filesystem::path registry, int lock)
      : user_(std::move(user)), trial_(std::move(trial)), registry_(std::move(registry)), lock_(lock) {}

  TrainerUser user_;
  FolderName trial_;
  std::filesystem::path registry_;
  int lock_;  // of the range's user on this host; -1: the one user of all
};

// Hands out the users of --run-as to trials. Of a range, a user is one trial's at a time on this host, whichever
// worker runs it: `registry` is a folder that all workers of the host share, in which a user is a locked file.
// It also says whose folder is open to the user, so that it is closed before the next trial has the user,
// though a worker may have been killed.
class TrainerUsers {
 public:
  static absl::StatusOr<TrainerUsers> Create(RunAs run_as, const std::filesystem::path& registry);

  const RunAs& run_as() const { return run_as_; }
  // A user for the trial whose folder that is: the one that other ranks of it have, else a free one, which is
  // the same as before where that is free. RESOURCE_EXHAUSTED: none is free.
  absl::StatusOr<UserLease> Take(const FolderName& trial) const;

  // Ends what workers that were killed have left running as users that nobody holds now, and closes the folders
  // of those trials. How many users that were.
  int ReclaimAll() const;

 private:
  TrainerUsers(RunAs run_as, std::filesystem::path registry)
      : run_as_(std::move(run_as)), registry_(std::move(registry)) {}

  RunAs run_as_;
  std::filesystem::path registry_;
};

inline constexpr char kUserRegistry[] = "/var/lib/winnow-trainers";

}  // namespace winnow
