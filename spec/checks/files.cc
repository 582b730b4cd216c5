#include "spec/checks/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "base/data_url.h"
#include "spec/builtin_trainers.h"
#include "spec/cluster.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Why a path cannot be read; "" if it can.
std::string Unreadable(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return error && error != std::errc::no_such_file_or_directory ? error.message() : "does not exist";
  const int mode = fs::is_directory(status) ? R_OK | X_OK : R_OK;
  return access(path.c_str(), mode) == 0 ? "" : "cannot be read";
}

// The files that a built-in trainer reads as one channel: the file itself, or those of the folder whose names
// do not begin with a point. Absent: the caller may not learn about one of them, so not even their number.
std::optional<std::vector<fs::path>> FilesOf(const fs::path& path, const MayTell& may_tell) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<fs::path>{path};
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string()[0] == '.') continue;
    if (!may_tell(entry->path())) return std::nullopt;
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Why a built-in trainer can make nothing of a path that can be read, on that many ranks; "" if it may.
std::string Unusable(const v1::Channel& channel, const fs::path& path, int nodes, const MayTell& may_tell) {
  const std::optional<std::vector<fs::path>> told = FilesOf(path, may_tell);
  if (!told) return "";
  const std::vector<fs::path>& files = *told;
  if (files.empty()) return path.string() + " contains no regular files; expected data files";
  for (const fs::path& file : files) {
    std::error_code error;
    if (const std::string why = Unreadable(file); !why.empty())
      return file.string() + " " + why + "; expected permission to read every file of the channel";
    if (fs::is_regular_file(file, error) && fs::file_size(file, error) == 0 && !error && files.size() == 1)
      return file.string() + " is empty; expected data";
  }
  if (channel.distribution() != "sharded" || static_cast<int>(files.size()) >= nodes) return "";
  return fmt::format(
      "{} is {} for {} ranks; expected a directory with at least one file for each, because distribution is "
      "sharded",
      path.string(), files.size() == 1 ? "one file" : fmt::format("{} files", files.size()), nodes);
}

void CheckChannels(const v1::TuningJobSpec& spec, const fs::path& folder, const MayTell& may_tell,
                   std::vector<Violation>* violations) {
  const bool builtin = FindBuiltinTrainer(spec.trainer().builtin()) != nullptr;
  const std::vector<int32_t> counts = NodeCounts(spec);
  const int32_t most_nodes = counts.empty() ? 1 : counts.back();
  const std::map<std::string, v1::Channel> sorted(spec.channels().begin(), spec.channels().end());
  for (const auto& [name, channel] : sorted) {
    if (channel.path().empty() || HasScheme(channel.path()))
      continue;  // the worker looks, with its credentials
    const fs::path path = (folder / channel.path()).lexically_normal();
    if (!may_tell(path)) continue;
    std::string problem;
    if (const std::string why = Unreadable(path); !why.empty())
      problem = path.string() + " " + why + "; expected a readable file or directory";
    else if (builtin)
      problem = Unusable(channel, path, most_nodes, may_tell);
    if (!problem.empty()) violations->push_back({"channels." + name + ".path", problem});
  }
}

void CheckProgram(const v1::TuningJobSpec& spec, const fs::path& folder, const MayTell& may_tell,
                  std::vector<Violation>* violations) {
  if (spec.trainer().command_size() == 0) return;
  const std::string& program = spec.trainer().command(0);
  if (program.find('/') == std::string::npos || program.find("{{") != std::string::npos) return;
  const fs::path path = (folder / program).lexically_normal();
  if (!may_tell(path)) return;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    violations->push_back({"trainer.command[0]", path.string() + " is not a file; expected a program"});
  } else if (access(path.c_str(), X_OK) != 0) {
    violations->push_back(
        {"trainer.command[0]", path.string() + " is not executable; expected a program (chmod +x)"});
  }
}

bool ReadsRelative(const v1::WarmStartSpec& warm) {
  const auto relative = [](const std::string& name) { return !name.empty() && name[0] != '/'; };
  const auto& studies = warm.optuna_studies();
  return std::any_of(warm.csv_files().begin(), warm.csv_files().end(), relative) ||
         std::any_of(studies.begin(), studies.end(),
                     [&](const auto& study) { return relative(study.file()); });
}

void CheckWarmStart(const v1::TuningJobSpec& spec, const fs::path& folder,
                    std::vector<Violation>* violations) {
  const auto table = [&](const std::string& at, const std::string& name, const char* what) {
    if (name.empty()) return;
    const fs::path path = (folder / name).lexically_normal();
    std::error_code error;
    if (const std::string why = Unreadable(path); !why.empty()) {
      violations->push_back({at, path.string() + " " + why + "; expected " + what + " that can be read"});
    } else if (fs::is_directory(path, error)) {
      violations->push_back({at, path.string() + " is a directory; expected " + what});
    }
  };
  const v1::WarmStartSpec& warm = spec.warm_start();
  for (int i = 0; i < warm.csv_files_size(); ++i) {
    table("warm_start.csv_files[" + std::to_string(i) + "]", warm.csv_files(i), "a table");
  }
  for (int i = 0; i < warm.optuna_studies_size(); ++i) {
    table("warm_start.optuna_studies[" + std::to_string(i) + "].file", warm.optuna_studies(i).file(),
          "an SQLite file");
  }
}

}  // namespace

std::vector<Violation> CheckFiles(const v1::TuningJobSpec& spec, Training training, const MayTell& may_tell) {
  std::vector<Violation> violations;
  const fs::path folder(spec.working_directory());
  // Winnow does not start an external job. Its folder, if it names one, holds what the server reads itself.
  const bool starts = !spec.trainer().external();
  const bool needed = starts || !folder.empty() || ReadsRelative(spec.warm_start());
  if (needed && !folder.is_absolute()) {
    violations.push_back({"working_directory", "is \"" + folder.string() + "\"; expected an absolute path"});
    return violations;
  }
  const MayTell told = may_tell ? may_tell : [](const std::string&) { return true; };
  // Trials with a source, or in a container, do not run in it.
  const bool elsewhere = !spec.trainer().source().empty() || spec.trainer().has_container();
  const bool told_of_folder = told(folder) && !elsewhere;
  const bool here = starts && training == Training::kHere;
  std::error_code error;
  if (here && told_of_folder && !fs::is_directory(folder, error)) {
    violations.push_back({"working_directory", folder.string() + " is not a directory on the server"});
    return violations;
  }
  if (here && told_of_folder && access(folder.c_str(), R_OK | X_OK) != 0) {
    violations.push_back({"working_directory", folder.string() + " cannot be read; expected permission to"});
    return violations;
  }
  if (here) CheckChannels(spec, folder, told, &violations);
  if (!may_tell) CheckWarmStart(spec, folder, &violations);
  if (here && !elsewhere) CheckProgram(spec, folder, told, &violations);
  return violations;
}

}  // namespace winnow
