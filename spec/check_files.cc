#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "spec/builtin_trainers.h"
#include "spec/check.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Why a path cannot be read; "" if it can.
std::string Unreadable(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return error && error != std::errc::no_such_file_or_directory ? error.message() : "is not there";
  const int mode = fs::is_directory(status) ? R_OK | X_OK : R_OK;
  return access(path.c_str(), mode) == 0 ? "" : "cannot be read";
}

// The files that a built-in trainer reads as one channel: of a folder those whose name does not begin with a point.
std::vector<fs::path> FilesOf(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const bool hidden = entry->path().filename().string()[0] == '.';
    if (!hidden && entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Why a built-in trainer can make nothing of a path that can be read, on that many ranks; "" if it may.
std::string Unusable(const v1::Channel& channel, const fs::path& path, int nodes) {
  const std::vector<fs::path> files = FilesOf(path);
  if (files.empty()) return path.string() + " holds no regular files; expected data files";
  for (const fs::path& file : files) {
    std::error_code error;
    if (const std::string why = Unreadable(file); !why.empty())
      return file.string() + " " + why + "; expected permission to read every file of the channel";
    if (fs::is_regular_file(file, error) && fs::file_size(file, error) == 0 && !error && files.size() == 1)
      return file.string() + " is empty; expected data";
  }
  if (channel.distribution() != "sharded" || static_cast<int>(files.size()) >= nodes) return "";
  return fmt::format("{} is {} for {} ranks; expected a folder with at least one file for each, as distribution is sharded",
                     path.string(), files.size() == 1 ? "one file" : fmt::format("{} files", files.size()), nodes);
}

void CheckChannels(const v1::TuningJobSpec& spec, const fs::path& folder,
                   std::vector<Violation>* violations) {
  const bool builtin = FindBuiltinTrainer(spec.trainer().builtin()) != nullptr;
  const std::map<std::string, v1::Channel> sorted(spec.channels().begin(), spec.channels().end());
  for (const auto& [name, channel] : sorted) {
    if (channel.path().empty()) continue;
    const fs::path path = (folder / channel.path()).lexically_normal();
    std::string problem;
    if (const std::string why = Unreadable(path); !why.empty())
      problem = path.string() + " " + why + "; expected a file or folder that can be read";
    else if (builtin)
      problem = Unusable(channel, path, std::max(1, spec.cluster().nodes()));
    if (!problem.empty()) violations->push_back({"channels." + name + ".path", problem});
  }
}

void CheckProgram(const v1::TuningJobSpec& spec, const fs::path& folder, std::vector<Violation>* violations) {
  if (spec.trainer().command_size() == 0) return;
  const std::string& program = spec.trainer().command(0);
  if (program.find('/') == std::string::npos || program.find("{{") != std::string::npos) return;
  const fs::path path = (folder / program).lexically_normal();
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    violations->push_back({"trainer.command[0]", path.string() + " is not a file; expected a program"});
  } else if (access(path.c_str(), X_OK) != 0) {
    violations->push_back(
        {"trainer.command[0]", path.string() + " is not executable; expected a program (chmod +x)"});
  }
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
      violations->push_back({at, path.string() + " is a folder; expected " + what});
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

std::vector<Violation> CheckFiles(const v1::TuningJobSpec& spec, Training training) {
  std::vector<Violation> violations;
  const fs::path folder(spec.working_directory());
  std::error_code error;
  if (!folder.is_absolute()) {
    violations.push_back({"working_directory", "is \"" + folder.string() + "\"; expected an absolute path"});
    return violations;
  }
  const bool here = fs::is_directory(folder, error);
  if (!here && training == Training::kHere) {
    violations.push_back({"working_directory", folder.string() + " is not a directory on the server"});
    return violations;
  }
  if (here && access(folder.c_str(), R_OK | X_OK) != 0) {
    violations.push_back({"working_directory", folder.string() + " cannot be read; expected permission to"});
    return violations;
  }
  if (here) CheckChannels(spec, folder, &violations);
  CheckWarmStart(spec, folder, &violations);
  if (here) CheckProgram(spec, folder, &violations);
  return violations;
}

}  // namespace winnow
