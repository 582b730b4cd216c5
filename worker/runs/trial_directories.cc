#include "worker/runs/trial_directories.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "absl/status/status.h"
#include "artifact/files.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "worker/host/folders.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kTrialFolders = {"checkpoint", "model", "output"};
constexpr int kMostGivenDepth = 200;
constexpr mode_t kPassThrough = 0711;  // users who know a name in it can pass; names are not listed

// Checks a job's id, which becomes a folder's name.
absl::Status CheckJob(std::string_view job) {
  if (!job.empty() && job != "." && job != ".." && job.find('/') == std::string_view::npos &&
      job.find('\0') == std::string_view::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format("job id \"{}\" cannot be the name of a directory", job));
}

absl::Status GiveError(const OpenFolder& folder, const std::string& name) {
  return FileError(folder.path() / name, "cannot be given to the trainer's user", errno);
}

// Gives away the content of the folder if `before` or this process owns it: a file of another owner came by a
// hard link and stays theirs.
absl::Status GiveContents(const OpenFolder& folder, uid_t before, const TrainerUser& user, int depth) {
  return folder.ForEach([&](const std::string& name, const struct stat& listed) -> absl::Status {
    const int flags = S_ISDIR(listed.st_mode) ? O_RDONLY | O_DIRECTORY : O_PATH;
    const OpenFile file(folder.path() / name,
                        openat(folder.descriptor(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    struct stat about {};
    if (file.descriptor() < 0 || fstat(file.descriptor(), &about) != 0) return GiveError(folder, name);
    const bool made_here = about.st_uid == geteuid() && (S_ISDIR(about.st_mode) || about.st_nlink == 1);
    const bool of_trainer = about.st_uid == before && before != geteuid();
    if (!made_here && !of_trainer) return absl::OkStatus();
    if (fchownat(file.descriptor(), "", user.uid, user.gid, AT_EMPTY_PATH) != 0)
      return GiveError(folder, name);
    if (!S_ISDIR(about.st_mode)) return absl::OkStatus();
    if (depth == kMostGivenDepth) {
      return absl::ResourceExhaustedError(fmt::format("{} has directories nested more than {} deep",
                                                      folder.path().string(), kMostGivenDepth));
    }
    const absl::StatusOr<OpenFolder> inner = folder.Inner(name);
    return inner.ok() ? GiveContents(*inner, before, user, depth + 1) : inner.status();
  });
}

absl::Status GiveFolder(const OpenFolder& folder, const TrainerUser& user) {
  if (folder.owner() == user.uid) return absl::OkStatus();
  if (fchown(folder.descriptor(), user.uid, user.gid) != 0) return GiveError(folder, "");
  if (absl::Status status = folder.SetMode(0700); !status.ok()) return status;
  return GiveContents(folder, folder.owner(), user, 0);
}

}  // namespace

absl::StatusOr<FolderName> NameTrialFolder(const fs::path& shared, std::string_view job, int64_t trial) {
  if (absl::Status status = CheckJob(job); !status.ok()) return status;
  return FolderName(shared, fs::path("jobs") / job / "trials" / std::to_string(trial));
}

absl::StatusOr<TrialDirectories> NameTrialDirectories(const fs::path& shared, std::string_view job,
                                                      int64_t trial) {
  const auto root = NameTrialFolder(shared, job, trial);
  if (!root.ok()) return root.status();
  return TrialDirectories{(*root / kTrialFolders[0]).path(), (*root / kTrialFolders[1]).path(),
                          (*root / kTrialFolders[2]).path()};
}

absl::StatusOr<TrialDirectories> MakeTrialDirectories(const fs::path& shared, std::string_view job,
                                                      int64_t trial, Clearing clearing) {
  const auto name = NameTrialFolder(shared, job, trial);
  if (!name.ok()) return name.status();
  if (absl::Status status = MakeFolder(shared); !status.ok()) return status;
  const auto root = OpenFolder::Make(*name);
  if (!root.ok()) return root.status();
  for (const char* part : kTrialFolders) {
    // Removes anything at the path that is not a folder, such as a link made by a trainer.
    const absl::StatusOr<bool> made = root->MakeIfMissing(part);
    if (!made.ok()) return made.status();
    if (*made) continue;
    const auto folder = root->Inner(part);
    if (!folder.ok()) return folder.status();
    const bool is_checkpoint = part == kTrialFolders[0];
    if (clearing == Clearing::kNothing || (clearing == Clearing::kCheckpoint && !is_checkpoint)) continue;
    if (absl::Status status = folder->RemoveAll(); !status.ok()) {
      return absl::FailedPreconditionError(
          fmt::format("cannot empty directory {}: {}", folder->path().string(), MessageOf(status)));
    }
  }
  if (clearing == Clearing::kEverything) {
    if (absl::Status status = root->Remove(kReportsFile); !status.ok()) return status;
  }
  return NameTrialDirectories(shared, job, trial);
}

absl::Status GiveTrialDirectories(const fs::path& shared, std::string_view job, int64_t trial,
                                  const TrainerUser& user) {
  const auto name = NameTrialFolder(shared, job, trial);
  if (!name.ok()) return name.status();
  FolderName above(name->base, "");
  for (const fs::path& part : name->below) {
    above = above / part.string();
    const auto folder = OpenFolder::Open(above);
    if (!folder.ok()) return folder.status();
    const bool is_trial = above.below == name->below;
    // The trial's own folder is opened last.
    for (const char* inner : kTrialFolders) {
      if (!is_trial) break;
      const auto given = folder->Inner(inner);
      absl::Status status = given.ok() ? GiveFolder(*given, user) : given.status();
      if (!status.ok()) return status;
    }
    if (absl::Status status = folder->SetMode(kPassThrough); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<fs::path> MakeLogPrefix(const fs::path& work, std::string_view job, int64_t trial,
                                       int64_t attempt, int rank) {
  if (absl::Status status = CheckJob(job); !status.ok()) return status;
  const fs::path folder = work / "jobs" / job / std::to_string(trial);
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  return folder / fmt::format("attempt-{}-rank-{}", attempt, rank);
}

}  // namespace winnow
