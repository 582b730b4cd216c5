#include "cli/commands/job_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cli/output/format.h"
#include "cli/output/text.h"
#include "scheduler/validate.h"
#include "spec/checks/check_spec.h"
#include "spec/checks/files.h"
#include "spec/job_file.h"
#include "spec/violations.h"
#include "spec/warnings.h"

namespace winnow::cli {
namespace {

constexpr size_t kMaxBytes = 8 << 20;
constexpr size_t kLongestJobName = 63;

std::string Shown(const std::string& path) { return path == "-" ? "standard input" : Clean(path); }

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t bytes = read(fd, buffer.data(), buffer.size());
    if (bytes == 0) return text;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) {
      return absl::NotFoundError(fmt::format("cannot read {}: {}", Shown(path), std::strerror(errno)));
    }
    text.append(buffer.data(), static_cast<size_t>(bytes));
    if (text.size() > kMaxBytes) {
      return absl::InvalidArgumentError(
          fmt::format("{} is longer than {} MiB; expected a job file", Shown(path), kMaxBytes >> 20));
    }
  }
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  if (path == "-") return ReadAll(STDIN_FILENO, path);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::NotFoundError(
        fmt::format("cannot open the job file {}: {}", Shown(path), std::strerror(errno)));
  }
  struct stat status = {};
  if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(fmt::format("{} is a directory; expected a job file", Shown(path)));
  }
  auto text = ReadAll(fd, path);
  close(fd);
  return text;
}

}  // namespace

absl::StatusOr<v1::TuningJobSpec> LoadJob(const std::string& path, const std::string& name) {
  const auto text = ReadFile(path);
  if (!text.ok()) return text.status();
  std::error_code ignored;
  const std::filesystem::path folder =
      path == "-" ? std::filesystem::current_path(ignored)
                  : std::filesystem::absolute(std::filesystem::path(path), ignored).parent_path();
  return CheckedJob(*text, Shown(path), folder, name);
}

absl::StatusOr<v1::TuningJobSpec> CheckedJob(const std::string& text, const std::string& shown,
                                             const std::filesystem::path& folder, const std::string& name) {
  ParsedJobFile job = ParseJobFile(text);
  std::vector<Violation> violations = std::move(job.violations);
  const bool readable = violations.empty() || job.spec.ByteSizeLong() > 0;

  const bool ours = job.spec.working_directory().empty();
  job.spec.set_working_directory((folder / job.spec.working_directory()).lexically_normal().string());
  if (ours) job.spec.set_working_directory(folder.lexically_normal().string());
  if (!name.empty()) job.spec.set_name(name);

  if (readable) {
    AddUnrelated(CheckSpec(job.spec), &violations);
    // Errors found here are reported together with missing files; otherwise the server checks the files.
    if (!violations.empty() && ours) AddUnrelated(CheckFiles(job.spec), &violations);
  }
  if (violations.empty()) return std::move(job.spec);

  std::string message = fmt::format("{} has {}; nothing was sent:", shown,
                                    Count(static_cast<int64_t>(violations.size()), "problem"));
  for (const Violation& violation : violations) {
    const std::string_view field = violation.field.empty() ? std::string_view("job file") : violation.field;
    message += fmt::format("\n  {}: {}", Clean(field), Clean(violation.description));
  }
  return absl::InvalidArgumentError(message);
}

std::string JobNameFrom(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) continue;  // goes on with a character
    const bool allowed = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    name += allowed ? c : '-';
  }
  if (name.empty() || std::isalnum(static_cast<unsigned char>(name[0])) == 0) name = "job" + name;
  return name.substr(0, kLongestJobName);
}

void PrintWarnings(const v1::TuningJobSpec& spec, Terminal* error) {
  for (const std::string& warning : SpecWarnings(spec))
    error->Print(fmt::format("winnow: warning: {}\n", Clean(warning)));
}

}  // namespace winnow::cli
