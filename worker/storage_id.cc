#include "worker/storage_id.h"

#include <sys/random.h>

#include <array>
#include <fstream>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "base/check.h"
#include "fmt/format.h"
#include "worker/host/folders.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

bool IsId(std::string_view text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string RandomId() {
  std::array<unsigned char, 16> bytes;
  WINNOW_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
               "the kernel gives random bytes");
  std::string id;
  for (const unsigned char byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

namespace {

absl::StatusOr<std::string> ReadOrMakeId(const fs::path& folder, const std::string& name) {
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  const fs::path path = folder / name;
  // Written whole under another name. The link fails if another worker came first; then its id is read.
  const std::string mine = RandomId();
  const fs::path draft = folder / fmt::format("{}.{}", name, mine);
  std::error_code error;
  if (!fs::exists(path, error)) {
    std::ofstream(draft) << mine << '\n';
    fs::create_hard_link(draft, path, error);
    std::error_code ignored;
    fs::remove(draft, ignored);
  }
  std::string id;
  std::ifstream(path) >> id;
  if (!IsId(id)) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: \"{}\" is not an id of 32 hexadecimal digits; if the directory is writable, remove the "
        "file and start again",
        path.string(), id));
  }
  return id;
}

}  // namespace

absl::StatusOr<std::string> ReadOrMakeStorageId(const fs::path& shared) {
  return ReadOrMakeId(shared, "storage-id");
}

absl::StatusOr<std::string> ReadOrMakeWorkFolderId(const fs::path& work) {
  return ReadOrMakeId(work, "worker-id");
}

}  // namespace winnow
