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

// Where a process stands in a tree of control groups.
struct CgroupPosition {
  std::filesystem::path mount;  // of the tree, as far as this process sees it
  std::filesystem::path group;  // the process's own: `mount` or below it
};

// This process's position in the tree of cgroup v2, or in that of a controller of v1 ("memory"); empty where
// there is none. `proc` holds the files cgroup and mountinfo.
std::optional<CgroupPosition> FindCgroup(const std::string& v1_controller = "",
                                         const std::filesystem::path& proc = "/proc/self");

// One group of cgroup v2, made by this process, with what runs in it.
class Cgroup {
 public:
  // Makes the group, or takes it over as it is. Errors are the system's.
  static absl::StatusOr<Cgroup> Make(const std::filesystem::path& path);
  // One that is there, made by whomever.
  static Cgroup At(std::filesystem::path path) { return Cgroup(std::move(path), false); }
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&&) = delete;
  // Kills what is in it and removes it, as far as that goes at once; only if it was made.
  ~Cgroup();

  const std::filesystem::path& path() const { return path_; }
  // The group's folder, and the file to which a process writes "0" to join; -1 if it cannot be opened. Kept
  // open with the group.
  int Folder();
  int JoinFile();
  absl::Status Set(const char* file, const std::string& value) const;
  // The number in `file`, or after `key` in it; empty if there is none.
  std::optional<int64_t> Number(const char* file, const std::string& key = "") const;
  bool Has(const char* controller) const;

  // Of this group alone, not of those below it.
  std::vector<pid_t> Processes() const;
  bool IsPopulated() const;  // with those below it
  // SIGKILL to everything in it and below it.
  void Kill() const;
  // The same over several calls, reaping those that are or become this process's children. Whether something
  // was left when the call began; then it is to be called again.
  bool KillSome();
  // Removes it and the groups below it, which must be empty. False if something is left.
  bool Remove() const;

 private:
  Cgroup(std::filesystem::path path, bool made) : path_(std::move(path)), made_(made) {}

  std::filesystem::path path_;
  bool made_;
  int folder_ = -1;
  int join_file_ = -1;
  std::vector<pid_t> killed_;  // and perhaps still to be reaped
  int empty_calls_ = 0;
};

}  // namespace winnow
