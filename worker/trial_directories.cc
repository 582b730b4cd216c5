#include "worker/trial_directories.h"

#include <system_error>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/folders.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// A job's id becomes a folder's name.
absl::Status CheckJob(std::string_view job) {
  if (!job.empty() && job != "." && job != ".." && job.find('/') == std::string_view::npos &&
      job.find('\0') == std::string_view::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format("job id \"{}\" cannot be the name of a folder", job));
}

}  // namespace

absl::StatusOr<TrialDirectories> NameTrialDirectories(const fs::path& shared, std::string_view job,
                                                      int64_t trial) {
  if (absl::Status status = CheckJob(job); !status.ok()) return status;
  const fs::path root = shared / "jobs" / job / "trials" / std::to_string(trial);
  return TrialDirectories{root / "checkpoint", root / "model", root / "output"};
}

absl::StatusOr<TrialDirectories> MakeTrialDirectories(const fs::path& shared, std::string_view job,
                                                      int64_t trial, bool empty_checkpoint) {
  const auto named = NameTrialDirectories(shared, job, trial);
  if (!named.ok()) return named.status();
  const TrialDirectories& folders = *named;
  for (const fs::path& folder : {folders.checkpoint, folders.model, folders.output}) {
    if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  }
  if (!empty_checkpoint) return folders;
  std::error_code error;
  for (fs::directory_iterator entry(folders.checkpoint, error), end; !error && entry != end;
       entry.increment(error)) {
    fs::remove_all(entry->path(), error);
  }
  if (error) {
    return absl::FailedPreconditionError(
        fmt::format("cannot empty folder {}: {}", folders.checkpoint.string(), error.message()));
  }
  return folders;
}

absl::StatusOr<fs::path> MakeLogPrefix(const fs::path& work, std::string_view job, int64_t trial,
                                       int64_t attempt, int rank) {
  if (absl::Status status = CheckJob(job); !status.ok()) return status;
  const fs::path folder = work / "jobs" / job / std::to_string(trial);
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  return folder / fmt::format("attempt-{}-rank-{}", attempt, rank);
}

}  // namespace winnow
