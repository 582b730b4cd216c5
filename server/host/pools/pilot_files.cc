#include "server/host/pools/pilot_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTailBytes = 2000;
constexpr size_t kTailLines = 4;

absl::Status CannotWrite(const fs::path& file, int error) {
  return absl::FailedPreconditionError(
      fmt::format("{} cannot be written: {}", file.string(), strerror(error)));
}

absl::Status WriteSecret(const fs::path& file, const std::string& text) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return CannotWrite(file, errno);
  size_t sent = 0;
  int error = 0;
  while (sent < text.size() && error == 0) {
    const ssize_t bytes = write(descriptor, text.data() + sent, text.size() - sent);
    if (bytes < 0 && errno != EINTR) error = errno;
    if (bytes > 0) sent += static_cast<size_t>(bytes);
  }
  if (close(descriptor) != 0 && error == 0) error = errno;
  return error == 0 ? absl::OkStatus() : CannotWrite(file, error);
}

// A line that says nothing of why no worker came: the worker's own information, and what srun does at an end.
bool IsRoutine(const std::string& line) {
  constexpr size_t kTimeBytes = 23;  // "2026-11-30T01:46:27.049"
  const bool information =
      line.size() > kTimeBytes && line[10] == 'T' && line.compare(kTimeBytes, 6, " info ") == 0;
  return information || (line.starts_with("srun: ") && !line.starts_with("srun: error"));
}

}  // namespace

absl::Status PilotFiles::Write(const AllocationRequest& request) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return CannotWrite(folder_, error.value());
  const fs::path own = Of(request.name);
  if (mkdir(own.c_str(), 0700) != 0 && errno != EEXIST) return CannotWrite(own, errno);
  if (chmod(own.c_str(), 0700) != 0) return CannotWrite(own, errno);
  for (const auto& [name, text] : request.files) {
    if (absl::Status status = WriteSecret(own / name, text); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<fs::path> PilotFiles::WriteScript(AllocationRequest request,
                                                 const std::string& scratch) const {
  request.files[kNodeScript] = NodeScript(*this, request, scratch);
  if (absl::Status status = Write(request); !status.ok()) return status;
  return Of(request.name) / kNodeScript;
}

absl::Status PilotFiles::Remove(const std::string& allocation) const {
  std::error_code error;
  fs::remove_all(Of(allocation), error);
  return error ? CannotWrite(Of(allocation), error.value()) : absl::OkStatus();
}

std::string PilotFiles::LastWords(const std::string& allocation) const {
  std::ifstream file(OutputOf(allocation), std::ios::binary | std::ios::ate);
  const int64_t size = file ? static_cast<int64_t>(file.tellg()) : 0;
  if (size <= 0) return "";
  const int64_t from = std::max<int64_t>(0, size - kTailBytes);
  file.seekg(from);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (from > 0 && lines.size() > 1) lines.erase(lines.begin());  // it may begin in the middle
  if (!std::all_of(lines.begin(), lines.end(), IsRoutine)) std::erase_if(lines, IsRoutine);
  std::string words;
  for (size_t i = lines.size() - std::min(lines.size(), kTailLines); i < lines.size(); ++i)
    words += (words.empty() ? "" : " / ") + lines[i];
  return ValidUtf8(words);
}

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ShellArgument(const std::string& argument, const std::string& name, const std::string& node) {
  const std::pair<std::string, std::string> replaced[] = {{"{node}", "\"" + node + "\""},
                                                          {"{files}", "\"$winnow_files\""},
                                                          {"{scratch}", "\"$winnow_scratch\""},
                                                          {name, "\"$winnow_name\""}};
  std::string shell, plain;
  const auto flush = [&] {
    if (!plain.empty()) shell += ShellQuoted(std::exchange(plain, ""));
  };
  for (size_t at = 0; at < argument.size();) {
    bool found = false;
    for (const auto& [from, to] : replaced) {
      if (from.empty() || argument.compare(at, from.size(), from) != 0) continue;
      flush();
      shell += to;
      at += from.size();
      found = true;
      break;
    }
    if (!found) plain += argument[at++];
  }
  flush();
  return shell.empty() ? "''" : shell;
}

std::string PilotScript(const std::string& command, const std::string& node) {
  return fmt::format(
      "winnow_scratch=\"$winnow_scratch/$winnow_name.{}\"; trap : TERM INT; mkdir -p \"$winnow_scratch\" && "
      "{{{}; "
      "winnow_code=$?; rm -rf \"$winnow_scratch\"; exit $winnow_code; }}",
      node, command);
}

std::string NodeScript(const PilotFiles& files, const AllocationRequest& request,
                       const std::string& scratch) {
  std::string worker;
  for (const std::string& argument : request.command)
    worker += " " + ShellArgument(argument, request.name, "$1");
  return fmt::format(
      "#!/bin/sh\n"
      "# The worker of one node of the allocation; its argument is the node's number, from 0.\n"
      "set -- \"${{1:-0}}\"\n"
      "winnow_name={}\n"
      "winnow_files={}\n"
      "winnow_scratch={}\n"
      "exec >> \"$winnow_files/output\" 2>&1\n"
      "{}\n",
      ShellQuoted(request.name), ShellQuoted(files.Of(request.name).string()),
      scratch.starts_with('$') ? "\"" + scratch + "\"" : ShellQuoted(scratch), PilotScript(worker, "$1"));
}

}  // namespace winnow
