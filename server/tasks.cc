#include "server/tasks.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "base/status_text.h"
#include "server/host/archive.h"
#include "server/host/check.h"
#include "server/host/copy_artifacts.h"
#include "server/host/copy_database.h"
#include "server/host/restore.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

int Failed(const absl::Status& status) {
  std::fflush(stdout);
  fmt::print(stderr, "winnow-server: {}\n", MessageOf(status));
  return 1;
}

void Tell(const std::string& finding) { fmt::print("{}\n", finding); }

// The place, which can be used now.
absl::StatusOr<std::unique_ptr<BlobPlace>> OpenNow(const ServerFlags& flags, const std::string& name) {
  signal(SIGPIPE, SIG_IGN);  // of a connection that ends
  PlaceSettings settings = flags.artifacts;
  settings.place = name;
  absl::StatusOr<std::unique_ptr<BlobPlace>> place =
      OpenPlace(settings, fs::absolute(StateDir(flags)) / "artifacts");
  if (!place.ok()) return place;
  if (absl::Status usable = (*place)->Probe(); !usable.ok()) return usable;
  return place;
}

int CheckAndTell(const ServerFlags& flags) {
  absl::StatusOr<std::unique_ptr<BlobPlace>> place = nullptr;  // the state directory may be missing
  if (!flags.artifacts.place.empty()) place = OpenNow(flags, flags.artifacts.place);
  const absl::StatusOr<CheckSummary> summary =
      place.ok() ? CheckDatabase(flags.db, StateDir(flags), Tell, place->get()) : place.status();
  if (!summary.ok()) return Failed(summary.status());
  fmt::print("{}\n", Text(*summary, flags.db));
  return summary->sound() ? 0 : 1;
}

int RestoreAndTell(const ServerFlags& flags) {
  const absl::StatusOr<Restored> restored = RestoreDatabase(flags.restore, flags.db, StateDir(flags), Tell);
  if (!restored.ok()) return Failed(restored.status());
  fmt::print("{}", Text(*restored, flags.restore, flags.db));
  return 0;
}

// Which state directory goes on with a database that was copied. With another one, what it has is forgotten.
std::string StateDirToKeep(const ServerFlags& flags) {
  const std::string folder = StateDir(flags);
  if (fs::exists(fs::path(folder) / "database")) return " --state-dir " + folder;
  return " and the --state-dir of its server: with another one, checkpoints, models and sources are "
         "forgotten";
}

int CopyAndTell(const ServerFlags& flags) {
  const absl::StatusOr<int64_t> rows = CopyDatabase(flags.db, flags.copy_to);
  if (!rows.ok()) return Failed(rows.status());
  fmt::print(
      "{} rows were copied from {} to {}, read again and compared: they are the same. Start "
      "with --db {}{}\n",
      *rows, flags.db, flags.copy_to, flags.copy_to, StateDirToKeep(flags));
  return 0;
}

int ArchiveAndTell(const ServerFlags& flags) {
  const absl::StatusOr<Archived> archived = ArchiveJobs(flags.db, flags.archive, flags.copy_to);
  if (!archived.ok()) return Failed(archived.status());
  fmt::print("{} rows of {} {} were copied to {}, read again and compared: they are the same.\n",
             archived->rows, flags.archive.size() == 1 ? "job" : "jobs", fmt::join(flags.archive, ", "),
             flags.copy_to);
  if (!archived->hidden.empty())
    fmt::print("Left out: the values of the environment variables {}.\n", fmt::join(archived->hidden, ", "));
  fmt::print(
      "Left out: checkpoints, models and sources. Look at it with: winnow-server --read-only --db {} "
      "--listen 127.0.0.1:7071 --http 127.0.0.1:8081\n",
      flags.copy_to);
  return 0;
}

int CopyArtifactsAndTell(const ServerFlags& flags) {
  const absl::StatusOr<std::unique_ptr<BlobPlace>> from = OpenNow(flags, flags.artifacts.place);
  if (!from.ok()) return Failed(from.status());
  const absl::StatusOr<std::unique_ptr<BlobPlace>> to = OpenNow(flags, flags.copy_artifacts);
  if (!to.ok()) return Failed(to.status());
  const absl::StatusOr<CopiedArtifacts> copied = CopyArtifacts(flags.db, **from, **to, Tell);
  if (!copied.ok()) return Failed(copied.status());
  fmt::print("{} Start with --artifacts {}\n", Text(*copied, **to), flags.copy_artifacts);
  return copied->findings == 0 ? 0 : 1;
}

}  // namespace

std::optional<int> RunTask(const ServerFlags& flags) {
  if (flags.check) return CheckAndTell(flags);
  if (!flags.restore.empty()) return RestoreAndTell(flags);
  if (!flags.archive.empty()) return ArchiveAndTell(flags);
  if (!flags.copy_to.empty()) return CopyAndTell(flags);
  if (!flags.copy_artifacts.empty()) return CopyArtifactsAndTell(flags);
  return std::nullopt;
}

}  // namespace winnow
