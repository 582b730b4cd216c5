#include "trainers/common/checkpoint_folder.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/status_text.h"
#include "trainers/common/whole_file.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Level to path, the newest first.
using Found = std::map<int64_t, fs::path, std::greater<>>;

// Calls take(level, ending, path) for each checkpoint.
template <typename Take>
void ForEachCheckpoint(const std::string& folder, const Take& take) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    long long level = 0;
    int length = 0;
    const std::string name = entry->path().filename().string();
    if (std::sscanf(name.c_str(), "checkpoint-%lld%n", &level, &length) != 1) continue;
    take(level, name.substr(length), entry->path());
  }
}

Found ListCheckpoints(const std::string& folder, const std::string& ending) {
  Found found;
  ForEachCheckpoint(folder, [&](int64_t level, const std::string& theirs, const fs::path& path) {
    if (theirs == ending) found[level] = path;
  });
  return found;
}

}  // namespace

std::set<std::string> CheckpointsIn(const std::string& folder) {
  std::set<std::string> paths;
  ForEachCheckpoint(folder,
                    [&](int64_t, const std::string&, const fs::path& path) { paths.insert(path.string()); });
  return paths;
}

bool IsOvertaken(const std::string& folder, int64_t level, const std::set<std::string>& begun_with) {
  bool found = false;
  ForEachCheckpoint(folder, [&](int64_t other, const std::string& ending, const fs::path& path) {
    found |= other > level && !ending.ends_with(".part") && !begun_with.contains(path.string());
  });
  return found;
}

absl::Status WriteCheckpointFile(const std::string& folder, int64_t level, const std::string& ending,
                                 const std::string& text, const std::set<std::string>& begun_with) {
  const fs::path path = fs::path(folder) / fmt::format("checkpoint-{:08}{}", level, ending);
  std::vector<std::string> replaced;
  for (const auto& [other_level, other] : ListCheckpoints(folder, ending)) {
    if (other != path && (other_level <= level || begun_with.contains(other.string())))
      replaced.push_back(other.string());
  }
  return ReplaceFiles(path.string(), text, std::move(replaced));
}

absl::Status ReadNewestCheckpointFile(const std::string& folder, const std::string& ending,
                                      const std::function<absl::Status(const std::string& text)>& take,
                                      std::vector<std::string>* warnings) {
  for (const auto& [_, path] : ListCheckpoints(folder, ending)) {
    const absl::StatusOr<std::string> text = ReadWholeFile(path.string());
    const absl::Status status = text.ok() ? take(*text) : text.status();
    if (status.ok()) return status;
    warnings->push_back(fmt::format("{}: {}; this checkpoint is ignored", path.string(), MessageOf(status)));
  }
  return absl::NotFoundError("no checkpoint in " + folder);
}

}  // namespace winnow
