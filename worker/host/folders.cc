#include "worker/host/folders.h"

#include <sys/stat.h>

#include <system_error>

#include "fmt/format.h"

namespace winnow {

absl::Status MakeFolder(const std::filesystem::path& path) {
  if (mkdir(path.c_str(), 0777) == 0) return absl::OkStatus();  // most are new, in one that is there
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("cannot create directory {}: {}", path.string(), error.message()));
}

}  // namespace winnow
