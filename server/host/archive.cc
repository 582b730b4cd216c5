#include "server/host/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string_view>
#include <variant>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "base/rename_new.h"
#include "server/engine/answers/job_facts.h"
#include "server/engine/answers/messages.h"
#include "spec/hidden_value.h"
#include "store/check.h"
#include "store/database/foreign_file.h"
#include "store/migrations.h"
#include "store/move.h"
#include "store/workers.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// The identity of an archive begins with this.
constexpr std::string_view kArchiveMark = "archive-";

absl::Status Failed(const std::string& file, int error) {
  return absl::FailedPreconditionError(fmt::format("{}: {}", file, strerror(error)));
}

absl::Status ThereAlready(const std::string& file) {
  return absl::FailedPreconditionError(
      fmt::format("{}: there is such a file already; expected the name of a new one", file));
}

// Takes the values of environment variables out of a job's stored spec.
absl::Status HideEnvironment(ColumnValue& stored, std::set<std::string>& hidden) {
  absl::StatusOr<v1::TuningJobSpec> spec = SpecFromJson(std::get<std::string>(stored));
  if (!spec.ok()) return spec.status();
  auto& environment = *spec->mutable_trainer()->mutable_environment();
  if (environment.empty()) return absl::OkStatus();
  for (auto& [variable, value] : environment) {
    value = kHiddenValue;
    hidden.insert(variable);
  }
  stored = ToStoredJson(*spec);
  return absl::OkStatus();
}

// Writes the archive to `part`, an empty file.
absl::StatusOr<Archived> Write(Database& from, const std::vector<std::string>& jobs,
                               const std::string& part) {
  absl::StatusOr<std::unique_ptr<Database>> to = Database::Open(part, OpenMode::kNew);
  if (!to.ok()) return to.status();
  if (absl::Status made = Migrate(**to); !made.ok()) return made;
  absl::Status marked = (*to)->Execute(fmt::format("UPDATE identity SET id = '{}' || id", kArchiveMark));
  if (!marked.ok()) return marked;
  Archived archived;
  absl::StatusOr<int64_t> rows =
      MoveJobs(from, **to, jobs, [&](std::string_view table, std::string_view column, ColumnValue& value) {
        if (table == "workers" && column == "state") value = std::string(TextOf(WorkerState::kGone));
        return table == "jobs" && column == "spec" ? HideEnvironment(value, archived.hidden)
                                                   : absl::OkStatus();
      });
  if (!rows.ok()) return rows.status();
  archived.rows = *rows;
  std::string finding;
  absl::Status checked = CheckFile(**to, [&](const std::string& text) { finding = text; });
  if (checked.ok() && !finding.empty()) checked = absl::DataLossError(fmt::format("{}: {}", part, finding));
  if (!checked.ok()) return checked;
  return archived;
}

// Gives the new file its name for good.
absl::Status Publish(const std::string& part, const std::string& file, const SyncNames& sync) {
  const OwnedDescriptor written(open(part.c_str(), O_RDONLY | O_CLOEXEC));
  if (!written.ok() || fsync(written.get()) != 0) return Failed(part, errno);
  const int error = RenameNew(part, file);
  if (error == EEXIST) return ThereAlready(file);
  if (error != 0) return Failed(file, error);
  const absl::Status synced = sync(fs::absolute(file).parent_path());
  if (!synced.ok()) {
    std::error_code none;
    fs::remove(file, none);
  }
  return synced;
}

}  // namespace

absl::StatusOr<Archived> ArchiveJobs(const std::string& database, const std::vector<std::string>& jobs,
                                     const std::string& file, const SyncNames& sync) {
  std::error_code none;
  if (fs::exists(fs::symlink_status(file, none))) return ThereAlready(file);
  absl::StatusOr<std::unique_ptr<Database>> from = OpenToCheck(database);
  if (!from.ok()) return from.status();
  if (absl::Status version = CheckVersion(**from); !version.ok()) return version;

  std::string part = file + ".XXXXXX";
  const int made = mkostemp(part.data(), O_CLOEXEC);
  if (made < 0) return Failed(file, errno);
  close(made);
  const absl::Cleanup remove = [&part] {
    std::error_code gone;
    fs::remove(part, gone);
  };
  absl::StatusOr<Archived> archived = Write(**from, jobs, part);
  if (!archived.ok()) return archived.status();
  if (absl::Status published = Publish(part, file, sync); !published.ok()) return published;
  return archived;
}

absl::Status CheckIsNoArchive(const std::string& file) {
  std::error_code none;
  if (IsPostgres(file) || !fs::is_regular_file(file, none)) return absl::OkStatus();
  const auto database = Database::Open(file, OpenMode::kStill);
  if (!database.ok()) return absl::OkStatus();
  Statement select(**database, "SELECT id FROM identity");
  const absl::StatusOr<bool> row = select.Bind().Next();
  if (!row.ok() || !*row || !select.Text(0).starts_with(kArchiveMark)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{} is an archive of jobs, which has neither tokens nor all of their specs, and is only "
                  "looked at: winnow-server --read-only --db {}",
                  file, file));
}

}  // namespace winnow
