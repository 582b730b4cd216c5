#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/rename_new.h"
#include "cli/commands/actions.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace winnow::cli {
namespace {

namespace fs = std::filesystem;

absl::Status CannotWrite(const std::string& path, int error = errno) {
  return absl::FailedPreconditionError(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

// A file being written, under a name that nobody else has taken; removed unless Keep was called.
class PartFile {
 public:
  explicit PartFile(std::string file) : file_(std::move(file)), part_(file_ + ".part-XXXXXX") {}
  ~PartFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    if (!kept_) unlink(part_.c_str());
  }

  // Private to its owner, because the copy contains job specs and token hashes.
  absl::Status Open() {
    descriptor_ = mkostemp(part_.data(), O_CLOEXEC);
    return descriptor_ < 0 ? CannotWrite(file_) : absl::OkStatus();
  }
  absl::Status Write(const std::string& data) {
    for (size_t done = 0; done < data.size();) {
      const ssize_t bytes = write(descriptor_, data.data() + done, data.size() - done);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes < 0) return CannotWrite(file_);
      done += static_cast<size_t>(bytes);
    }
    written_ += static_cast<int64_t>(data.size());
    return absl::OkStatus();
  }
  // Renames it to `file`, durably even after a power failure.
  absl::Status Keep(bool replaces) {
    if (fsync(descriptor_) != 0) return CannotWrite(file_);
    // A file created in the meantime is not replaced unless asked for.
    if (replaces) {
      if (rename(part_.c_str(), file_.c_str()) != 0) return CannotWrite(file_);
    } else if (const int error = RenameNew(part_, file_); error != 0) {
      return CannotWrite(file_, error);
    }
    kept_ = true;
    const std::string folder = fs::absolute(file_).parent_path().string();
    const int held = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (held < 0) return CannotWrite(folder);
    const bool synced = fsync(held) == 0;
    close(held);
    return synced ? absl::OkStatus() : CannotWrite(folder);
  }
  int64_t written() const { return written_; }

 private:
  const std::string file_;
  std::string part_;
  int descriptor_ = -1;
  int64_t written_ = 0;
  bool kept_ = false;
};

}  // namespace

Exit Backup(Session& session, const BackupOptions& options) {
  std::error_code none;
  if (fs::is_directory(options.file, none)) {
    return UsageError(
        fmt::format("FILE: {} is a directory; expected the name of a file", Clean(options.file)));
  }
  if (!options.force && fs::exists(options.file, none)) {
    return absl::AlreadyExistsError(
        fmt::format("{} already exists; name another file, or replace it with --force", Clean(options.file)));
  }
  PartFile file(options.file);
  absl::Status status = file.Open();
  if (!status.ok()) return status;
  int64_t expected = -1;
  status = session.client().Backup([&](const v1::BackupPart& part) {
    if (expected < 0) expected = part.total_bytes();
    return file.Write(part.data());
  });
  if (!status.ok()) return status;
  if (file.written() != expected) {
    return absl::DataLossError(fmt::format("the copy ended after {} of {} bytes; nothing is saved, try again",
                                           file.written(), std::max<int64_t>(expected, 0)));
  }
  status = file.Keep(options.force);
  if (!status.ok()) return status;
  if (session.output == Output::kJson) {
    const nlohmann::json json = {{"file", options.file}, {"bytes", expected}};
    session.out.Print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    session.out.Print(fmt::format("{}: {} bytes. Verify it with: winnow-server --check --db {}\n",
                                  Clean(options.file), Thousands(expected), Clean(options.file)));
  }
  return kSuccess;
}

}  // namespace winnow::cli
