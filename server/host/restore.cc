#include "server/host/restore.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "server/host/archive.h"
#include "server/host/endpoint_state.h"
#include "server/host/own_files.h"
#include "store/copy.h"
#include "store/database/database.h"
#include "store/database/foreign_file.h"
#include "store/migrations.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr char kSetAside[] = ".before-restore";

absl::Status Failed(const std::string& path, const std::string& why) {
  return absl::FailedPreconditionError(path + ": " + why);
}

absl::Status Rename(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? Failed(from.string(), "cannot be renamed to " + to.string() + ": " + error.message())
               : absl::OkStatus();
}

// A name beside the database that nothing has yet, nor a log of its.
std::string FreeName(const std::string& file) {
  const auto taken = [](const std::string& name) {
    std::error_code none;
    return fs::exists(fs::symlink_status(name, none));
  };
  std::string name = file + kSetAside;
  for (int i = 2; taken(name) || taken(name + "-wal"); ++i) name = fmt::format("{}{}-{}", file, kSetAside, i);
  return name;
}

// Makes the sound copies `part` of the database and, if the backup has it, `endpoint` of the endpoint's
// state, whose objects are counted in `restored`.
absl::StatusOr<CheckSummary> MakeCopy(const std::string& backup, const std::string& part,
                                      const fs::path& endpoint, Restored& restored, const TellFinding& tell) {
  absl::Status copied = CopyDatabase(backup, part, [] { return false; });
  if (!copied.ok()) return copied;
  const absl::StatusOr<bool> has_endpoint = TakeEndpointState(part, endpoint);
  if (!has_endpoint.ok()) return has_endpoint.status();
  restored.endpoint = *has_endpoint;
  {
    absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(part, OpenMode::kReadWrite);
    if (!database.ok()) return database.status();
    if (absl::Status status = Migrate(**database); !status.ok()) return status;
  }
  absl::StatusOr<CheckSummary> summary = CheckDatabase(part, "", tell);
  if (!summary.ok()) return summary;
  const absl::StatusOr<int64_t> objects = CheckEndpointFolder(endpoint, [&](const std::string& finding) {
    ++summary->findings;
    tell(finding);
  });
  if (!objects.ok()) return objects.status();
  restored.objects = *objects;
  if (!summary->sound())
    return Failed(backup, fmt::format("has {} errors; nothing was changed", summary->findings));
  const OwnedDescriptor written(open(part.c_str(), O_RDONLY | O_CLOEXEC));
  if (!written.ok() || fsync(written.get()) != 0) return Failed(part, "cannot be written to disk");
  return summary;
}

// Calls `take` for each entry of a folder, which need not be there.
absl::Status ForEachEntry(const fs::path& folder, const std::function<absl::Status(const fs::path&)>& take) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (absl::Status status = take(at->path()); !status.ok()) return status;
  }
  if (!error || error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    return absl::OkStatus();
  return Failed(folder.string(), "cannot be read: " + error.message());
}

// Renames the checkpoints of local workers, `state_dir`/shared/jobs/JOB/trials/N/checkpoint; removes what an
// earlier restore has renamed.
absl::StatusOr<int64_t> SetCheckpointsAside(const fs::path& state_dir) {
  int64_t count = 0;
  const auto set_aside = [&count](const fs::path& trial) {
    const fs::path checkpoint = trial / "checkpoint";
    std::error_code none;
    if (!fs::exists(fs::symlink_status(checkpoint, none))) return absl::OkStatus();
    const fs::path aside = checkpoint.string() + kSetAside;
    fs::remove_all(aside, none);
    absl::Status renamed = Rename(checkpoint, aside);
    if (renamed.ok()) ++count;
    return renamed;
  };
  const absl::Status status = ForEachEntry(state_dir / "shared" / "jobs", [&](const fs::path& job) {
    return ForEachEntry(job / "trials", set_aside);
  });
  if (!status.ok()) return status;
  return count;
}

}  // namespace

absl::StatusOr<Restored> RestoreDatabase(const std::string& backup, const std::string& file,
                                         const std::string& state_dir, const TellFinding& tell) {
  std::error_code error;
  if (IsPostgres(file)) return Failed(file, "is PostgreSQL; expected a file: a backup is one");
  if (!fs::is_regular_file(backup, error)) return Failed(backup, "is not a file; expected a backup");
  if (fs::equivalent(backup, file, error))
    return Failed(backup, "is the database itself; expected a backup of it");
  if (absl::Status whole = CheckIsNoArchive(backup); !whole.ok()) return whole;
  const bool is_new = !fs::exists(file, error);
  absl::StatusOr<OwnFiles> own = OwnFiles::Take(file, state_dir);
  if (!own.ok()) return own.status();
  const std::string database = own->database(), part = database + ".restore.part";
  const fs::path endpoint = EndpointFolder(state_dir), endpoint_part = endpoint.string() + ".restore.part";
  Restored restored;
  absl::StatusOr<CheckSummary> summary = MakeCopy(backup, part, endpoint_part, restored, tell);
  if (!summary.ok()) {
    for (const char* end : {"", "-wal", "-shm"}) fs::remove(part + end, error);
    fs::remove_all(endpoint_part, error);
    if (is_new) fs::remove(database, error);
    return absl::Status(summary.status().code(),
                        absl::StrReplaceAll(summary.status().message(), {{part, backup}}));
  }
  EndLocalWorkers(state_dir);
  // Before the database is replaced: no server may find the copy together with newer checkpoints.
  absl::StatusOr<int64_t> checkpoints = SetCheckpointsAside(state_dir);
  if (!checkpoints.ok()) return checkpoints.status();
  restored.checkpoints = *checkpoints;
  restored.summary = *summary;
  if (restored.endpoint) {
    if (fs::exists(fs::symlink_status(endpoint, error))) {
      restored.former_endpoint = FreeName(endpoint);
      if (absl::Status renamed = Rename(endpoint, restored.former_endpoint); !renamed.ok()) return renamed;
    }
    if (absl::Status renamed = Rename(endpoint_part, endpoint); !renamed.ok()) return renamed;
  }
  if (fs::file_size(database, error) > 0) {
    restored.former = FreeName(database);
    for (const char* end : {"-wal", "-shm", ""}) {
      if (!fs::exists(fs::symlink_status(database + end, error))) continue;
      if (absl::Status renamed = Rename(database + end, restored.former + end); !renamed.ok()) return renamed;
    }
  }
  if (absl::Status renamed = Rename(part, database); !renamed.ok()) return renamed;
  const OwnedDescriptor folder(
      open(fs::path(database).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.ok()) fsync(folder.get());
  return restored;
}

std::string Text(const Restored& restored, const std::string& backup, const std::string& file) {
  std::string text = fmt::format("{} was restored from {}: version {}, {} jobs with {} facts\n", file, backup,
                                 restored.summary.version, restored.summary.jobs, restored.summary.facts);
  if (!restored.former.empty()) text += fmt::format("the former database is now {}\n", restored.former);
  if (restored.endpoint) {
    text +=
        fmt::format("the endpoint for clients of SageMaker has its {} objects of S3 again", restored.objects);
    if (!restored.former_endpoint.empty()) text += "; what it had is now " + restored.former_endpoint;
    text += "\n";
  }
  if (restored.checkpoints > 0) {
    const bool one = restored.checkpoints == 1;
    text += fmt::format(
        "{} checkpoint{} renamed to checkpoint{}; remove {} when the former database is not needed\n",
        restored.checkpoints, one ? " was" : "s were", kSetAside, one ? "it" : "them");
  }
  return text +
         "on other hosts, remove SHARED_DIR/jobs/*/trials/*/checkpoint before their workers start again\n";
}

}  // namespace winnow
