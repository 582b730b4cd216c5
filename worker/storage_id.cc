#include "worker/storage_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "artifact/files.h"
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

absl::Status WriteId(const fs::path& path, const std::string& id) {
  absl::StatusOr<OpenFile> file = OpenFile::Open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (!file.ok()) return file.status();
  if (absl::Status status = file->Write(id + "\n"); !status.ok()) return status;
  return file->Sync();
}

// Gives the draft that name, unless another worker came first. A file that is there is replaced if it is
// empty, as a full disk may have left it.
absl::Status Publish(const fs::path& draft, const fs::path& path) {
  if (link(draft.c_str(), path.c_str()) == 0) return SyncFolder(path.parent_path());
  if (errno != EEXIST) return FileError(path, "cannot be made", errno);
  const absl::StatusOr<OpenFile> there = OpenFile::Open(path, O_RDONLY);
  if (!there.ok()) return there.status();
  (void)flock(there->descriptor(), LOCK_EX);  // so that one worker replaces it; some file systems have none
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return FileError(path, "cannot be read", errno);
  if (about.st_size > 0) return absl::OkStatus();
  if (rename(draft.c_str(), path.c_str()) != 0) return FileError(path, "cannot be replaced", errno);
  return SyncFolder(path.parent_path());
}

absl::StatusOr<std::string> ReadOrMakeId(const fs::path& folder, const std::string& name) {
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  const fs::path path = folder / name;
  struct stat about {};
  if (stat(path.c_str(), &about) != 0 || about.st_size == 0) {
    // Written whole under another name. If another worker came first, its id is read.
    const std::string mine = RandomId();
    const fs::path draft = folder / fmt::format("{}.{}", name, mine);
    absl::Status status = WriteId(draft, mine);
    if (status.ok()) status = Publish(draft, path);
    std::error_code ignored;
    fs::remove(draft, ignored);
    if (!status.ok()) return status;
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
