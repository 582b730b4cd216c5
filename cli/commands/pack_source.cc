#include "cli/commands/pack_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "artifact/digest.h"
#include "artifact/files.h"
#include "artifact/manifest.h"
#include "base/spawn.h"
#include "base/status_text.h"
#include "base/utf8.h"
#include "cli/commands/ignore_rules.h"
#include "cli/output/text.h"

extern char** environ;

namespace winnow::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHowToLeaveOut = "leave files out with trainer.exclude or a .winnowignore";

absl::Status BadFile(const std::string& path, const std::string& what) {
  return absl::FailedPreconditionError(
      fmt::format("trainer.source: {} {}; or {}", Clean(path), what, kHowToLeaveOut));
}

class Packer {
 public:
  explicit Packer(fs::path root) : root_(std::move(root)) {}

  absl::StatusOr<v1::Manifest> Pack(const std::vector<std::string>& exclude) {
    for (const char* name : {".winnowignore", ".gitignore"}) {
      const absl::StatusOr<OpenFile> file = OpenFile::Open(root_ / name, O_RDONLY);
      if (!file.ok()) continue;
      const absl::StatusOr<std::string> text = file->ReadAt(0, 1 << 20);
      if (!text.ok()) return text.status();
      rules_.AddLines(*text);
      break;
    }
    for (const std::string& pattern : exclude) rules_.Add(pattern);
    if (absl::Status status = Walk("", 0); !status.ok()) return status;
    if (files_.empty()) {
      return absl::InvalidArgumentError(fmt::format(
          "trainer.source: {} has no file to send; expected the program's code", Clean(root_.string())));
    }
    if (absl::Status status = CheckTotals(); !status.ok()) return status;
    v1::Manifest manifest;
    for (const auto& [path, executable] : files_) {
      if (absl::Status status = AddFile(path, executable, *manifest.add_files()); !status.ok()) return status;
    }
    if (absl::Status status = CheckManifest(manifest); !status.ok())
      return absl::InvalidArgumentError(
          fmt::format("trainer.source: {}; {}", MessageOf(status), kHowToLeaveOut));
    return manifest;
  }

 private:
  absl::Status Walk(const std::string& inner, int depth) {
    std::error_code error;
    std::vector<fs::directory_entry> entries;
    fs::directory_iterator folder(root_ / inner, error);
    if (error) return BadFile(inner.empty() ? root_.string() : inner, "cannot be listed: " + error.message());
    for (const fs::directory_entry& entry : folder) entries.push_back(entry);
    for (const fs::directory_entry& entry : entries) {
      const std::string name = entry.path().filename().string();
      const std::string path = inner.empty() ? name : inner + "/" + name;
      struct stat about {};
      if (lstat(entry.path().c_str(), &about) != 0) continue;  // it has just been removed
      if (name == ".git" || rules_.LeavesOut(path, S_ISDIR(about.st_mode))) continue;
      if (!IsUtf8(name)) return BadFile(path, "has a name that is not UTF-8; expected one that is");
      if (S_ISDIR(about.st_mode)) {
        if (depth >= kMaxFolderDepth)
          return BadFile(path,
                         fmt::format("is nested too deeply; expected at most {} folders", kMaxFolderDepth));
        if (absl::Status status = Walk(path, depth + 1); !status.ok()) return status;
        continue;
      }
      if (S_ISLNK(about.st_mode)) {
        if (absl::Status status = CheckLink(path, about); !status.ok()) return status;
      }
      if (!S_ISREG(about.st_mode))
        return BadFile(path, "is neither a file nor a folder; expected files and folders");
      files_[path] = (about.st_mode & S_IXUSR) != 0;
      const std::string top = path.substr(0, path.find('/'));
      by_top_[top] += about.st_size;
      bytes_ += about.st_size;
    }
    return absl::OkStatus();
  }

  // OK: a link to a regular file of the folder, whose state is then in `about`.
  absl::Status CheckLink(const std::string& path, struct stat& about) {
    std::error_code error;
    const fs::path target = fs::canonical(root_ / path, error);
    const std::string named = fs::read_symlink(root_ / path, error).string();
    if (target.empty())
      return BadFile(path,
                     fmt::format("is a symbolic link to {}, which does not exist; expected a file of the "
                                 "folder",
                                 Clean(named)));
    const std::string below = target.lexically_relative(root_).string();
    if (below == ".." || below.starts_with("../"))
      return BadFile(path,
                     fmt::format("is a symbolic link to {}, outside of the folder; expected a copy of it in "
                                 "the folder",
                                 Clean(named)));
    if (stat(target.c_str(), &about) != 0 || !S_ISREG(about.st_mode))
      return BadFile(
          path, fmt::format("is a symbolic link to {}, which is no regular file; expected links to files",
                            Clean(named)));
    return absl::OkStatus();
  }

  absl::Status CheckTotals() const {
    if (static_cast<int64_t>(files_.size()) <= kMaxManifestFiles && bytes_ <= kMaxSourceBytes)
      return absl::OkStatus();
    std::vector<std::pair<int64_t, std::string>> largest;
    for (const auto& [top, bytes] : by_top_) largest.emplace_back(bytes, top);
    std::sort(largest.rbegin(), largest.rend());
    std::string named;
    for (size_t i = 0; i < std::min<size_t>(3, largest.size()); ++i) {
      named += fmt::format("{}{} ({:.1f} MB)", i == 0 ? "" : ", ", Clean(largest[i].second),
                           static_cast<double>(largest[i].first) / 1e6);
    }
    return absl::InvalidArgumentError(
        fmt::format("trainer.source: {} has {} files of {:.1f} MB; expected at most {} files of {:.1f} MB "
                    "together. The largest "
                    "parts are {}; {}",
                    Clean(root_.string()), files_.size(), static_cast<double>(bytes_) / 1e6,
                    kMaxManifestFiles, static_cast<double>(kMaxSourceBytes) / 1e6, named, kHowToLeaveOut));
  }

  absl::Status AddFile(const std::string& path, bool executable, v1::ArtifactFile& added) {
    added.set_path(path);
    added.set_executable(executable);
    const absl::StatusOr<OpenFile> file = OpenFile::Open(root_ / path, O_RDONLY | O_NONBLOCK);
    if (!file.ok()) return BadFile(path, "cannot be read: " + MessageOf(file.status()));
    struct stat before {};
    struct stat after {};
    if (fstat(file->descriptor(), &before) != 0) return BadFile(path, "cannot be read");
    int64_t at = 0;
    while (at < before.st_size) {
      const int64_t most = std::min<int64_t>(kBlobBytes, before.st_size - at);
      const absl::StatusOr<std::string> bytes = file->ReadAt(at, most);
      if (!bytes.ok()) return BadFile(path, "cannot be read: " + MessageOf(bytes.status()));
      if (static_cast<int64_t>(bytes->size()) != most) break;
      v1::BlobName* blob = added.add_blobs();
      blob->set_digest(DigestOf(*bytes));
      blob->set_size(most);
      at += most;
    }
    added.set_size(at);
    const bool changed = at != before.st_size || fstat(file->descriptor(), &after) != 0 ||
                         after.st_size != before.st_size || after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
                         after.st_mtim.tv_nsec != before.st_mtim.tv_nsec;
    if (changed) return BadFile(path, "changed while it was packed; expected files at rest: submit again");
    return absl::OkStatus();
  }

  const fs::path root_;
  IgnoreRules rules_;
  std::map<std::string, bool> files_;      // path, executable
  std::map<std::string, int64_t> by_top_;  // bytes by first part of the path
  int64_t bytes_ = 0;
};

// What a git command prints; absent: it failed, or there is no git.
std::optional<std::string> AskGit(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "--no-optional-locks", "-C", folder.string()});
  const std::vector<char*> arguments = Pointers(words);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, "git", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t bytes = 0; error == 0 && (bytes = read(ends[0], buffer.data(), buffer.size())) != 0;) {
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) break;
    if (text.size() < buffer.size()) text.append(buffer.data(), static_cast<size_t>(bytes));
  }
  close(ends[0]);
  if (error != 0) return std::nullopt;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return text;
}

void AddCommit(const fs::path& folder, v1::Source& source) {
  const std::optional<std::string> commit = AskGit(folder, {"rev-parse", "--verify", "HEAD"});
  if (!commit) return;
  source.set_git_commit(commit->substr(0, commit->find('\n')));
  const std::optional<std::string> changes = AskGit(folder, {"status", "--porcelain", "--", "."});
  source.set_git_dirty(!changes || !changes->empty());
}

}  // namespace

absl::StatusOr<v1::Source> PackSource(const fs::path& folder, const std::vector<std::string>& exclude) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) {
    return absl::NotFoundError(
        fmt::format("trainer.source: {} {}; expected a folder with the program's code",
                    Clean(folder.lexically_normal().string()),
                    error == std::errc::no_such_file_or_directory ? "does not exist" : error.message()));
  }
  if (!fs::is_directory(root, error)) {
    return absl::FailedPreconditionError(fmt::format(
        "trainer.source: {} is not a folder; expected one with the program's code", Clean(root.string())));
  }
  absl::StatusOr<v1::Manifest> manifest = Packer(root).Pack(exclude);
  if (!manifest.ok()) return manifest.status();
  v1::Source source;
  source.set_digest(ManifestDigest(*manifest));
  source.set_files(manifest->files_size());
  source.set_size(BytesOf(*manifest));
  AddCommit(root, source);
  *source.mutable_manifest() = *std::move(manifest);
  return source;
}

}  // namespace winnow::cli
