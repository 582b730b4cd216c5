#include "server/host/state_dir.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <fstream>

#include "server/host/worker_process.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

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

// Ends the workers that still work for the other database; their results are not needed.
void EndWorkers(const fs::path& workers) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(workers, none)) {
    std::unique_ptr<WorkerProcess> worker = WorkerProcess::Adopt(entry.path());
    if (worker == nullptr) continue;
    worker->Signal(SIGKILL);
    pollfd end = {worker->descriptor(), POLLIN, 0};
    poll(&end, 1, kLastWorkerMs);
  }
}

}  // namespace

absl::Status PrepareStateDir(const fs::path& state_dir, const std::string& database_identity,
                             const std::function<void(const std::string&)>& log) {
  std::error_code error;
  fs::create_directories(state_dir, error);
  if (error) return Problem(state_dir, error);
  fs::path mark = state_dir / "database";
  std::string owner;
  std::ifstream(mark) >> owner;
  if (owner == database_identity) return absl::OkStatus();
  if (owner.empty() && HoldsOthersFiles(state_dir)) {
    return absl::FailedPreconditionError(
        fmt::format("{} is neither empty nor a state directory of winnow-server; name an empty or new one "
                    "with --state-dir",
                    state_dir.string()));
  }
  if (!owner.empty()) {
    EndWorkers(state_dir / "workers");
    fs::path aside = state_dir / ("before-" + owner);
    fs::create_directories(aside, error);
    if (error) return Problem(aside, error);
    for (const char* name : {"shared", "workers", "artifacts"}) {
      if (!fs::exists(state_dir / name)) continue;
      fs::rename(state_dir / name, aside / name, error);
      if (error) return Problem(aside / name, error);
    }
    log(fmt::format("{} belonged to another database; its content is now in {}", state_dir.string(),
                    aside.string()));
  }
  // Written last and atomically: an interrupted preparation is repeated.
  fs::path part = state_dir / "database.part";
  std::ofstream(part, std::ios::trunc) << database_identity << '\n';
  fs::rename(part, mark, error);
  if (error) return Problem(mark, error);
  return absl::OkStatus();
}

}  // namespace winnow
