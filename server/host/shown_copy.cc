#include "server/host/shown_copy.h"

#include <errno.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "store/copy.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

absl::Status CheckWhole(const std::string& file) {
  std::error_code none;
  if (!fs::is_regular_file(file, none))
    return absl::NotFoundError(file + ": no such file; name the database with --db");
  for (const char* log : {"-wal", "-journal"}) {
    const auto bytes = fs::file_size(file + log, none);
    if (none || bytes == 0) continue;
    return absl::FailedPreconditionError(
        fmt::format("{0}: {0}{1} is beside it, so a server uses the file or was killed; expected a file of "
                    "winnow-server --archive or winnow backup",
                    file, log));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShownCopy>> ShownCopy::Make(const std::string& file,
                                                           const std::function<bool()>& cancelled) {
  std::error_code none;
  const fs::path linked = fs::canonical(file, none);  // its logs are beside the file itself
  const std::string source = none ? file : linked.string();
  if (absl::Status whole = CheckWhole(source); !whole.ok()) return whole;
  std::string folder = (fs::temp_directory_path(none) / "winnow-shown-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    return absl::FailedPreconditionError(fmt::format("{}: {}", folder, strerror(errno)));
  std::unique_ptr<ShownCopy> copy(new ShownCopy(folder));
  const std::string name = (copy->folder_ / "copy.db").string();
  absl::Status status = CopyDatabase(source, name, cancelled, OpenMode::kStill);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(name);
  if (!store.ok())
    return absl::Status(store.status().code(), absl::StrReplaceAll(store.status().message(), {{name, file}}));
  copy->store_ = *std::move(store);
  return copy;
}

ShownCopy::~ShownCopy() {
  store_ = nullptr;
  std::error_code none;
  fs::remove_all(folder_, none);
}

}  // namespace winnow
