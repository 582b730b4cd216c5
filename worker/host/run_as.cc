#include "worker/host/run_as.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "worker/host/capabilities.h"
#include "worker/host/folders.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostUsers = 1024;          // the maximum of slots of a worker
constexpr uint32_t kLargestId = 0xFFFFFFFD;  // the two ids above mean "none"
constexpr uint32_t kNobody = 65534;          // likewise, with the id above, where ids have 16 bits
constexpr std::chrono::seconds kEndPatience(5);

struct Capability {
  int number;
  const char* name;
};
constexpr std::array<Capability, 6> kNeeded = {{{CAP_CHOWN, "CAP_CHOWN"},
                                                {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
                                                {CAP_FOWNER, "CAP_FOWNER"},
                                                {CAP_KILL, "CAP_KILL"},
                                                {CAP_SETGID, "CAP_SETGID"},
                                                {CAP_SETUID, "CAP_SETUID"}}};

std::optional<uint32_t> ReadId(std::string_view text) {
  uint32_t number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || rest != text.data() + text.size() || number > kLargestId)
    return std::nullopt;
  return number;
}

absl::Status Wrong(const std::string& text, const std::string& why) {
  return absl::InvalidArgumentError(
      fmt::format("\"{}\": {}; expected USER[:GROUP], or unused user ids FIRST-LAST[:GROUP]", text, why));
}

absl::StatusOr<gid_t> ReadGroup(const std::string& text, const std::string& group) {
  if (const auto number = ReadId(group); number.has_value()) return *number;
  const struct group* found = getgrnam(group.c_str());
  if (found == nullptr) return Wrong(text, fmt::format("there is no group {}", group));
  return found->gr_gid;
}

std::vector<gid_t> GroupsOf(const std::string& user, gid_t first) {
  int count = 64;
  std::vector<gid_t> groups(static_cast<size_t>(count));
  if (getgrouplist(user.c_str(), first, groups.data(), &count) < 0) {
    groups.resize(static_cast<size_t>(count));
    getgrouplist(user.c_str(), first, groups.data(), &count);
  }
  groups.resize(static_cast<size_t>(std::max(count, 0)));
  return groups;
}

absl::Status CheckNumber(const std::string& text, uid_t uid) {
  if (uid == 0) return Wrong(text, "trainers may not run as root");
  if (uid == kNobody || uid == kNobody + 1) return Wrong(text, fmt::format("{} means nobody", uid));
  if (uid == geteuid()) return Wrong(text, "this is the worker's own user");
  return absl::OkStatus();
}

struct ProcessStatus {
  uid_t uid = 0;  // the real user id
  bool is_zombie = false;
};

// Empty: the process is gone. The owner of /proc/PID does not serve: a process can make that root.
std::optional<ProcessStatus> ReadStatus(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  ProcessStatus status;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("State:")) status.is_zombie = line.find('Z') == line.find_first_not_of(" \t", 6);
    if (!line.starts_with("Uid:")) continue;
    const size_t digit = line.find_first_of("0123456789");
    if (digit == std::string::npos) break;
    std::from_chars(line.data() + digit, line.data() + line.size(), status.uid);
    return status;
  }
  return std::nullopt;
}

// Held while the registry is read and changed.
class Guard {
 public:
  explicit Guard(const fs::path& registry) : fd_(open(registry.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Guard() {
    if (fd_ >= 0) close(fd_);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

std::string ReadEntry(int fd) {
  std::string text(8192, '\0');
  const ssize_t bytes = pread(fd, text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  return text;
}

bool WriteEntry(int fd, const std::string& text) {
  return ftruncate(fd, 0) == 0 &&
         pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

std::string EntryOf(const FolderName& trial) {
  return fmt::format("{}\n{}", trial.base.string(), trial.below.string());
}

void CloseTrial(const std::string& entry) {
  const size_t end = entry.find('\n');
  if (end == std::string::npos) return;
  const auto folder = OpenFolder::Open({entry.substr(0, end), entry.substr(end + 1)});
  if (folder.ok()) folder->SetMode(0700).IgnoreError();
}

// Zombies do not count.
bool HasProcesses(uid_t uid) {
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const auto pid = ReadId(entry->path().filename().string());
    if (!pid.has_value()) continue;
    const auto status = ReadStatus(static_cast<pid_t>(*pid));
    if (status.has_value() && status->uid == uid && !status->is_zombie) return true;
  }
  return false;
}

// Returns whether all processes of the user are gone.
bool EndLeftovers(const TrainerUser& user) {
  const auto deadline = std::chrono::steady_clock::now() + kEndPatience;
  for (;;) {
    EndProcessesOf(user);
    if (!HasProcesses(user.uid)) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    poll(nullptr, 0, 10);
  }
}

// Cleans up after a killed worker whose trial had the user. Returns whether the user's processes are gone.
bool Reclaim(const TrainerUser& user, const std::string& entry) {
  CloseTrial(entry);
  return EndLeftovers(user);
}

// FNV-1a: stable over restarts, so that a trial gets the same user again.
size_t Hash(std::string_view text) {
  uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

// Whether the permissions grant the user `bits` (in the position of "other").
bool Permits(const TrainerUser& user, const struct stat& about, mode_t bits) {
  if (about.st_uid == user.uid) return (about.st_mode & (bits << 6)) == bits << 6;
  const bool member = about.st_gid == user.gid ||
                      std::find(user.groups.begin(), user.groups.end(), about.st_gid) != user.groups.end();
  if (member) return (about.st_mode & (bits << 3)) == bits << 3;
  return (about.st_mode & bits) == bits;
}

}  // namespace

absl::StatusOr<RunAs> RunAs::Parse(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string who = text.substr(0, colon);
  std::optional<gid_t> group;
  if (colon != std::string::npos) {
    const absl::StatusOr<gid_t> read = ReadGroup(text, text.substr(colon + 1));
    if (!read.ok()) return read.status();
    group = *read;
  }
  RunAs run_as;
  const size_t dash = who.find('-');
  const auto first = ReadId(std::string_view(who).substr(0, dash));
  if (first.has_value() && dash != std::string::npos) {
    const auto last = ReadId(std::string_view(who).substr(dash + 1));
    if (!last.has_value() || *last <= *first || *last - *first >= kMostUsers)
      return Wrong(text, fmt::format("a range has 2 to {} numbers, the first below the last", kMostUsers));
    for (uid_t uid = *first; uid <= *last; ++uid) {
      if (absl::Status status = CheckNumber(text, uid); !status.ok()) return status;
      if (const passwd* user = getpwuid(uid); user != nullptr)
        return Wrong(text, fmt::format("{} is user {}", uid, user->pw_name));
    }
    run_as.count_ = *last - *first + 1;
    run_as.own_groups_ = !group.has_value();
    run_as.first_ = {*first, group.value_or(*first)};
    return run_as;
  }
  const passwd* user = first.has_value() ? getpwuid(*first) : getpwnam(who.c_str());
  if (user == nullptr && !first.has_value()) return Wrong(text, fmt::format("there is no user {}", who));
  if (user == nullptr) {
    run_as.first_ = {*first, group.value_or(*first)};
  } else {
    const gid_t gid = group.value_or(user->pw_gid);
    run_as.first_ = {user->pw_uid, gid, {}, user->pw_name};
    run_as.first_.groups = GroupsOf(run_as.first_.name, gid);
  }
  if (absl::Status status = CheckNumber(text, run_as.first_.uid); !status.ok()) return status;
  return run_as;
}

TrainerUser RunAs::user(size_t index) const {
  TrainerUser user = first_;
  user.uid += static_cast<uid_t>(index);
  if (own_groups_) user.gid += static_cast<gid_t>(index);
  return user;
}

absl::Status CheckMayRunAs() {
  Capabilities own{};
  std::string missing;
  const bool known = GetCapabilities(&own);
  for (const Capability& needed : kNeeded) {
    if (known && (own[0].effective & (1U << needed.number)) != 0) continue;
    missing += fmt::format("{}{}", missing.empty() ? "" : ", ", needed.name);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("this process may not run trainers as another user: it lacks {}; start it as root or with "
                  "these capabilities",
                  missing));
}

fs::path Obstacle(const TrainerUser& user, const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(path, error);
  if (error) whole = path;
  fs::path way;
  for (const fs::path& part : whole) {
    way /= part;
    struct stat about {};
    if (stat(way.c_str(), &about) != 0) return "";  // it is to be created
    // Connecting to a socket needs write permission.
    const mode_t bits = S_ISDIR(about.st_mode) ? S_IXOTH : S_ISSOCK(about.st_mode) ? S_IWOTH : S_IROTH;
    if (!Permits(user, about, bits)) return way;
  }
  return "";
}

bool BecomeUser(const TrainerUser& user) {
  if (setgroups(user.groups.size(), user.groups.data()) != 0 ||
      setresgid(user.gid, user.gid, user.gid) != 0 || setresuid(user.uid, user.uid, user.uid) != 0) {
    return false;
  }
  // A change between users other than root keeps capabilities, so they are dropped explicitly; old kernels
  // have no ambient ones.
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return SetCapabilities({}) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

void EndProcessesOf(const TrainerUser& user) {
  // A child that runs as the user kills all the user's processes in one system call, so that none escapes by
  // starting others. If they kill the child first, it is tried again.
  constexpr int kTries = 20;
  for (int tries = 0; tries < kTries; ++tries) {
    const pid_t child = fork();
    if (child < 0) return;
    if (child == 0) {
      uid_t real = 0, effective = 0, saved = 0;
      Capabilities own{};
      if (!BecomeUser(user) || getresuid(&real, &effective, &saved) != 0 || real != user.uid ||
          effective != user.uid || saved != user.uid || user.uid == 0 || !GetCapabilities(&own) ||
          own[0].effective != 0 || own[1].effective != 0) {
        _exit(1);
      }
      kill(-1, SIGKILL);
      _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) return;
  }
}

std::optional<uid_t> UserOf(pid_t pid) {
  const auto status = ReadStatus(pid);
  return status.has_value() ? std::optional(status->uid) : std::nullopt;
}

UserLease::UserLease(UserLease&& other) noexcept
    : user_(std::move(other.user_)),
      trial_(std::move(other.trial_)),
      registry_(std::move(other.registry_)),
      lock_(std::exchange(other.lock_, -1)) {}

UserLease& UserLease::operator=(UserLease&& other) noexcept {
  std::swap(user_, other.user_);
  std::swap(trial_, other.trial_);
  std::swap(registry_, other.registry_);
  std::swap(lock_, other.lock_);
  return *this;
}

UserLease::~UserLease() {
  if (lock_ < 0) return;
  const Guard guard(registry_);
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) {
    CloseTrial(EntryOf(trial_));
    WriteEntry(lock_, "");
  }
  close(lock_);
}

bool UserLease::IsAlone() const {
  if (lock_ < 0) return false;
  const Guard guard(registry_);
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) return false;
  flock(lock_, LOCK_SH);
  return true;
}

absl::StatusOr<TrainerUsers> TrainerUsers::Create(RunAs run_as, const fs::path& registry) {
  if (run_as.is_range()) {
    // It may be a link, as in an image whose own folders are read-only.
    std::error_code error;
    const fs::path target = fs::read_symlink(registry, error);
    if (absl::Status status = MakeFolder(error ? registry : target); !status.ok()) return status;
    if (chmod(registry.c_str(), 0700) != 0)
      return absl::FailedPreconditionError(
          fmt::format("cannot use {}: {}", registry.string(), strerrordesc_np(errno)));
  }
  return TrainerUsers(std::move(run_as), registry);
}

int TrainerUsers::ReclaimAll() const {
  if (!run_as_.is_range()) return 0;
  const Guard guard(registry_);
  int reclaimed = 0;
  for (size_t i = 0; i < run_as_.count(); ++i) {
    const TrainerUser user = run_as_.user(i);
    const OpenFile file(
        registry_, openat(guard.fd(), std::to_string(user.uid).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (file.descriptor() < 0 || flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0) continue;
    const std::string entry = ReadEntry(file.descriptor());
    if (entry.empty() || !Reclaim(user, entry)) continue;
    WriteEntry(file.descriptor(), "");
    ++reclaimed;
  }
  return reclaimed;
}

absl::StatusOr<UserLease> TrainerUsers::Take(const FolderName& trial) const {
  if (!run_as_.is_range()) return UserLease(run_as_.user(0), trial, registry_, -1);
  const Guard guard(registry_);
  const std::string mine = EntryOf(trial);
  // Holds the lock alone; becomes a lease at the end, after the guard is released.
  OpenFile chosen(registry_, -1);
  TrainerUser user;
  std::string before;
  const size_t start = Hash(trial.below.string());
  for (size_t i = 0; i < run_as_.count(); ++i) {
    const TrainerUser candidate = run_as_.user((start + i) % run_as_.count());
    OpenFile file(registry_, openat(guard.fd(), std::to_string(candidate.uid).c_str(),
                                    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.descriptor() < 0) {
      return absl::ResourceExhaustedError(
          fmt::format("cannot open a file in {}: {}", registry_.string(), strerrordesc_np(errno)));
    }
    const std::string entry = ReadEntry(file.descriptor());
    const bool is_free = flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0;
    if (!is_free && entry == mine && flock(file.descriptor(), LOCK_SH | LOCK_NB) == 0)
      return UserLease(candidate, trial, registry_, file.Release());
    if (!is_free || (chosen.descriptor() >= 0 && entry != mine)) continue;
    chosen = std::move(file);
    user = candidate;
    before = entry;
  }
  if (chosen.descriptor() < 0) {
    return absl::ResourceExhaustedError(
        fmt::format("all {} users of --run-as are held by trials; expected one for each slot of this host",
                    run_as_.count()));
  }
  if (!before.empty() && !Reclaim(user, before)) {
    return absl::ResourceExhaustedError(
        fmt::format("processes of user {}, left of an earlier trial, do not end", user.uid));
  }
  if (!WriteEntry(chosen.descriptor(), mine)) {
    return absl::ResourceExhaustedError(
        fmt::format("cannot write to {}: {}", registry_.string(), strerrordesc_np(errno)));
  }
  flock(chosen.descriptor(), LOCK_SH);
  return UserLease(user, trial, registry_, chosen.Release());
}

}  // namespace winnow
