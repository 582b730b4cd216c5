#include "server/host/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <fstream>

#include "server/host/worker_process.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPrivateFile = 0600;
constexpr mode_t kPrivateFolder = 0700;
constexpr mode_t kOthers = 077;
// trainers of local workers, other users under --run-as, need to pass to their own folders
constexpr mode_t kMoreThanPass = 066;

absl::Status Refused(const std::string& why) { return absl::FailedPreconditionError(why); }

// Locks the open file, not its name, until the descriptor or the process ends. This kind of lock is
// independent of SQLite's.
bool Lock(const OwnedDescriptor& file) { return flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

constexpr int kLastWorkerMs = 10'000;

absl::Status Problem(const fs::path& path, const std::error_code& error) {
  return absl::FailedPreconditionError(fmt::format("{}: {}", path.string(), error.message()));
}

// Other users could no longer reach their files.
bool HoldsOthersFiles(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name != "database.part" && name != "lost+found") return true;
  }
  return false;
}

constexpr const char* kContent[] = {"shared", "workers", "artifacts"};

// Where the content of a state folder is while another database has the folder.
fs::path AsideOf(const fs::path& state_dir, const std::string& identity) {
  return state_dir / ("before-" + identity);
}

absl::Status SetAside(const fs::path& state_dir, const fs::path& aside) {
  std::error_code error;
  fs::create_directories(aside, error);
  if (error) return Problem(aside, error);
  for (const char* name : kContent) {
    if (!fs::exists(state_dir / name)) continue;
    fs::rename(state_dir / name, aside / name, error);
    if (error) return Problem(aside / name, error);
  }
  return absl::OkStatus();
}

// Brings back what was set aside while another database had the folder, such as one that was started with a
// wrong --state-dir.
absl::Status BringBack(const fs::path& state_dir, const std::string& identity,
                       const std::function<void(const std::string&)>& log) {
  const fs::path aside = AsideOf(state_dir, identity);
  std::error_code error;
  if (!fs::exists(aside, error)) return absl::OkStatus();
  for (const char* name : kContent) {
    if (!fs::exists(aside / name) || fs::exists(state_dir / name)) continue;
    fs::rename(aside / name, state_dir / name, error);
    if (error) return Problem(state_dir / name, error);
  }
  if (fs::remove(aside, error)) log(fmt::format("{} has its own content again", state_dir.string()));
  return absl::OkStatus();
}

}  // namespace

void EndLocalWorkers(const fs::path& state_dir) {
  std::error_code none;
  for (fs::directory_iterator entry(state_dir / "workers", none), end; !none && entry != end;
       entry.increment(none)) {
    std::unique_ptr<WorkerProcess> worker = WorkerProcess::Adopt(entry->path());
    if (worker == nullptr) continue;
    worker->Signal(SIGKILL);
    pollfd ended = {worker->descriptor(), POLLIN, 0};
    poll(&ended, 1, kLastWorkerMs);
  }
}

absl::StatusOr<OwnFiles> OwnFiles::Take(const std::string& database, const std::string& state_dir) {
  absl::StatusOr<OwnFiles> own = TakeDatabase(database);
  if (!own.ok()) return own.status();
  absl::StatusOr<OwnFiles> folder = TakeFolder(state_dir);
  if (!folder.ok()) return folder.status();
  own->folder_ = std::move(folder->folder_);
  return own;
}

absl::StatusOr<OwnFiles> OwnFiles::TakeDatabase(const std::string& database) {
  OwnFiles own;
  own.lock_ = OwnedDescriptor(
      open(database.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, kPrivateFile));
  if (!own.lock_.ok()) {
    return Refused(fmt::format(
        "cannot open {}: {}; the database's directory must exist and be writable: check its owner, "
        "its permissions and that the disk has room, or name another file with --db",
        database, strerror(errno)));
  }
  struct stat file {};
  if (fstat(own.lock_.get(), &file) != 0 || !S_ISREG(file.st_mode)) {
    return Refused(fmt::format("{} is not a regular file; name another with --db", database));
  }
  if (!Lock(own.lock_)) {
    return Refused(
        fmt::format("{} is in use by another winnow-server; name another file with --db", database));
  }
  if (file.st_nlink > 1) {
    return Refused(
        fmt::format("{} has {} hard links, and a log beside one of them would not be found under "
                    "another; remove the others (find -samefile lists them), or name a copy with --db",
                    database, file.st_nlink));
  }
  std::error_code error;
  own.database_ = fs::canonical(database, error).string();
  if (error) return Refused(fmt::format("{}: {}", database, error.message()));
  return own;
}

absl::StatusOr<OwnFiles> OwnFiles::TakeFolder(const std::string& state_dir) {
  OwnFiles own;
  std::error_code error;
  fs::create_directories(fs::path(state_dir).parent_path(), error);
  if (mkdir(state_dir.c_str(), kPrivateFolder) != 0 && errno != EEXIST) {
    return Refused(fmt::format("cannot create {}: {}; name another directory with --state-dir", state_dir,
                               strerror(errno)));
  }
  own.folder_ = OwnedDescriptor(open(state_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.folder_.ok()) {
    return Refused(fmt::format("cannot open {}: {}; name another directory with --state-dir", state_dir,
                               strerror(errno)));
  }
  if (!Lock(own.folder_)) {
    return Refused(fmt::format(
        "{} is the state directory of another running winnow-server; name another with --state-dir",
        state_dir));
  }
  return own;
}

absl::Status OwnFiles::MakePrivate() const {
  for (const char* part : {"", "-wal", "-shm"}) {
    if (database_.empty()) break;
    const std::string name = database_ + part;
    struct stat file {};
    if (lstat(name.c_str(), &file) != 0 || !S_ISREG(file.st_mode) || (file.st_mode & kOthers) == 0) continue;
    if (chmod(name.c_str(), kPrivateFile) == 0) continue;
    return Refused(fmt::format(
        "{} can be read or written by other users, and its permissions cannot be changed: {}; run "
        "the server as its owner, or: chmod 600",
        name, strerror(errno)));
  }
  struct stat folder {};
  if (fstat(folder_.get(), &folder) != 0 || (folder.st_mode & kMoreThanPass) == 0) return absl::OkStatus();
  if (fchmod(folder_.get(), kPrivateFolder) == 0) return absl::OkStatus();
  return Refused(fmt::format(
      "the state directory can be read by other users, and its permissions cannot be changed: {}; run "
      "the server as its owner, or: chmod 700",
      strerror(errno)));
}

absl::Status PrepareStateDir(const fs::path& state_dir, const std::string& database_identity,
                             const std::function<void(const std::string&)>& log) {
  std::error_code error;
  fs::create_directories(state_dir, error);
  if (error) return Problem(state_dir, error);
  fs::path mark = state_dir / "database";
  std::string owner;
  std::ifstream(mark) >> owner;
  if (owner == database_identity) return BringBack(state_dir, database_identity, log);
  if (owner.empty() && HoldsOthersFiles(state_dir)) {
    return absl::FailedPreconditionError(
        fmt::format("{} is neither empty nor a state directory of winnow-server; name an empty or new one "
                    "with --state-dir",
                    state_dir.string()));
  }
  if (!owner.empty()) {
    EndLocalWorkers(state_dir);
    const fs::path aside = AsideOf(state_dir, owner);
    if (absl::Status moved = SetAside(state_dir, aside); !moved.ok()) return moved;
    log(fmt::format(
        "{} belonged to another database; its content is now in {}, and comes back with that database",
        state_dir.string(), aside.string()));
  }
  // Written last and atomically: an interrupted preparation is repeated.
  fs::path part = state_dir / "database.part";
  std::ofstream(part, std::ios::trunc) << database_identity << '\n';
  fs::rename(part, mark, error);
  if (error) return Problem(mark, error);
  return BringBack(state_dir, database_identity, log);
}

}  // namespace winnow
