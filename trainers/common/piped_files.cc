#include "trainers/common/piped_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <system_error>
#include <utility>

#include "fmt/format.h"

namespace winnow {
namespace {

constexpr size_t kReadAtOnce = 1 << 20;

absl::Status OfPipe(const std::string& channel, const std::string& path, const char* what) {
  return absl::UnavailableError(
      fmt::format("{}: {} {}: {}", channel, path, what, std::generic_category().message(errno)));
}

absl::StatusOr<FileHandle> ReadToEnd(const std::string& channel, const std::string& path) {
  const FileHandle pipe(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!pipe.is_open()) return OfPipe(channel, path, "cannot be opened");
  FileHandle memory(::memfd_create("channel", MFD_CLOEXEC));
  if (!memory.is_open()) return OfPipe(channel, path, "cannot be kept in memory");
  std::vector<char> buffer(kReadAtOnce);
  while (true) {
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got == 0) return memory;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return OfPipe(channel, path, "cannot be read");
    for (ssize_t done = 0; done < got;) {
      const ssize_t put =
          ::write(memory.get(), buffer.data() + done, static_cast<size_t>(got) - static_cast<size_t>(done));
      if (put < 0 && errno != EINTR) return OfPipe(channel, path, "cannot be kept in memory");
      if (put > 0) done += put;
    }
  }
}

}  // namespace

absl::StatusOr<PipedFiles> PipedFiles::Read(TrainFiles* files) {
  PipedFiles piped;
  const auto read = [&piped](const std::string& channel, std::string* path) {
    absl::StatusOr<FileHandle> memory = ReadToEnd(channel, *path + "_0");
    if (!memory.ok()) return memory.status();
    *path = fmt::format("/proc/self/fd/{}", memory->get());
    piped.memory_.push_back(*std::move(memory));
    return absl::OkStatus();
  };
  absl::Status status;
  if (files->train_piped) status = read(files->train_name, &files->train_path);
  if (status.ok() && files->validation_piped && !files->validation_path.empty())
    status = read(files->validation_name, &files->validation_path);
  if (!status.ok()) return status;
  return piped;
}

}  // namespace winnow
