#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

constexpr double kGib = 1024.0 * 1024 * 1024;  // bytes

// The position of a process in a tree of control groups.
struct CgroupPosition {
  std::filesystem::path mount;  // root of the tree, as visible to this process
  std::filesystem::path group;  // the process's own group: `mount` or below it
};

// Returns this process's position in the tree of cgroup v2, or of a v1 controller ("memory"); empty: none.
// `proc` holds the files cgroup and mountinfo.
std::optional<CgroupPosition> FindCgroup(const std::string& v1_controller = "",
                                         const std::filesystem::path& proc = "/proc/self");

// A group of cgroup v2 made by this process, with the processes in it.
class Cgroup {
 public:
  // Makes the group, or takes over an existing one unchanged. Errors are the system's.
  static absl::StatusOr<Cgroup> Make(const std::filesystem::path& path);
  // An existing group, made by any process.
  static Cgroup At(std::filesystem::path path) { return Cgroup(std::move(path), false); }
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&&) = delete;
  // If made here: kills the processes in it and removes it, as far as that succeeds at once.
  ~Cgroup();

  const std::filesystem::path& path() const { return path_; }
  // Returns the group's folder, and the file to which a process writes "0" to join; -1: cannot be opened.
  // Both stay open as long as the group.
  int Folder();
  int JoinFile();
  absl::Status Set(const char* file, const std::string& value) const;
  // Returns the number in `file`, or after `key` in it; empty: none.
  std::optional<int64_t> Number(const char* file, const std::string& key = "") const;
  bool Has(const char* controller) const;

  // Processes of this group alone, without groups below it.
  std::vector<pid_t> Processes() const;
  bool IsPopulated() const;  // including groups below it
  // Sends SIGKILL to everything in it and below it.
  void Kill() const;
  // Kill in several calls, which also reap the processes that are or become our children. Returns whether any
  // was left when the call began; then call again.
  bool KillSome();
  // Removes it and the groups below it, which must be empty. False: something is left.
  bool Remove() const;

 private:
  Cgroup(std::filesystem::path path, bool made) : path_(std::move(path)), made_(made) {}

  std::filesystem::path path_;
  bool made_;
  int folder_ = -1;
  int join_file_ = -1;
  std::vector<pid_t> killed_;  // possibly not reaped yet
  int empty_calls_ = 0;
};

}  // namespace winnow
