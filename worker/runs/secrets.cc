#include "worker/runs/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/status_text.h"
#include "fmt/format.h"

namespace winnow {
namespace {

constexpr size_t kMostBytes = 64 << 10;
constexpr size_t kLeastBytes = 4;
constexpr char kEveryone[] = "everyone";

struct Fd {
  explicit Fd(int the_fd) : fd(the_fd) {}
  ~Fd() {
    if (fd >= 0) close(fd);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  const int fd;
};

// Whether `name` is a single path component that cannot leave the folder.
bool IsFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

absl::Status Wrong(const std::string& why) { return absl::FailedPreconditionError(why); }

// Absent: no such file.
absl::StatusOr<std::optional<std::string>> ReadValue(int folder, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const Fd file(static_cast<int>(syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how)));
  if (file.fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (file.fd < 0 && (errno == EXDEV || errno == ELOOP)) return Wrong("is a link that leaves the directory");
  if (file.fd < 0) return Wrong(fmt::format("cannot be read: {}", strerrordesc_np(errno)));
  struct stat stat {};
  if (fstat(file.fd, &stat) != 0 || !S_ISREG(stat.st_mode)) return Wrong("is not a regular file");
  std::string value(kMostBytes + 1, '\0');
  size_t size = 0;
  while (size < value.size()) {
    const ssize_t got = read(file.fd, value.data() + size, value.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Wrong(fmt::format("cannot be read: {}", strerrordesc_np(errno)));
    if (got == 0) break;
    size += got;
  }
  if (size > kMostBytes) return Wrong(fmt::format("has more than {} bytes, the maximum", kMostBytes));
  value.resize(size);
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  if (value.find('\0') != std::string::npos)
    return Wrong("contains a NUL, which environment variables cannot");
  if (value.size() < kLeastBytes) {
    return Wrong(
        fmt::format("has {} bytes; expected at least {}, since a shorter one cannot be hidden in what the "
                    "trainer prints",
                    value.size(), kLeastBytes));
  }
  return value;
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ReadSecrets(const std::filesystem::path& folder,
                                                               const std::string& worker,
                                                               const v1::Assignment& assignment) {
  std::map<std::string, std::string> values;
  if (assignment.secrets().empty()) return values;
  const std::map<std::string, std::string> wanted(assignment.secrets().begin(), assignment.secrets().end());
  if (folder.empty()) {
    return Wrong(
        fmt::format("worker {} has no secrets, and the job requires \"{}\"; start it with --secrets-dir",
                    worker, wanted.begin()->second));
  }
  const Fd opened(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (opened.fd < 0) {
    return Wrong(fmt::format("worker {} cannot read its --secrets-dir: {}", worker, strerrordesc_np(errno)));
  }
  std::vector<std::string> places;
  if (IsFileName(assignment.owner())) places.push_back(assignment.owner());
  places.emplace_back(kEveryone);
  for (const auto& [variable, name] : wanted) {
    if (!IsFileName(name)) return Wrong(fmt::format("\"{}\" is not the name of a secret", name));
    for (const std::string& place : places) {
      absl::StatusOr<std::optional<std::string>> value = ReadValue(opened.fd, place + "/" + name);
      if (!value.ok()) {
        return Wrong(fmt::format("the secret \"{}\" of worker {} ({}/{}) {}", name, worker, place, name,
                                 MessageOf(value.status())));
      }
      if (!*value) continue;
      values[variable] = **std::move(value);
      break;
    }
    if (values.count(variable) > 0) continue;
    return Wrong(fmt::format("worker {} has no secret \"{}\"; expected the file {}/{} in its --secrets-dir",
                             worker, name, fmt::join(places, "/" + name + " or "), name));
  }
  return values;
}

}  // namespace winnow
