#include <unistd.h>

#include <filesystem>
#include <map>
#include <system_error>

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

}  // namespace

std::vector<Violation> CheckFiles(const v1::TuningJobSpec& spec) {
  std::vector<Violation> violations;
  const fs::path folder(spec.working_directory());
  std::error_code error;
  if (!folder.is_absolute()) {
    violations.push_back({"working_directory", "is \"" + folder.string() + "\"; expected an absolute path"});
    return violations;
  }
  if (!fs::is_directory(folder, error)) {
    violations.push_back({"working_directory", folder.string() + " is no folder on this host; expected one"});
    return violations;
  }
  if (access(folder.c_str(), R_OK | X_OK) != 0) {
    violations.push_back({"working_directory", folder.string() + " cannot be read; expected permission to"});
    return violations;
  }
  const std::map<std::string, v1::Channel> sorted(spec.channels().begin(), spec.channels().end());
  for (const auto& [name, channel] : sorted) {
    if (channel.path().empty()) continue;
    const fs::path path = (folder / channel.path()).lexically_normal();
    const std::string why = Unreadable(path);
    if (why.empty()) continue;
    violations.push_back({"channels." + name + ".path",
                          path.string() + " " + why + "; expected a file or folder that can be read"});
  }
  const auto table = [&](const std::string& at, const std::string& name, const char* what) {
    const fs::path path = (folder / name).lexically_normal();
    const std::string why = name.empty() ? "" : Unreadable(path);
    if (!why.empty()) {
      violations.push_back({at, path.string() + " " + why + "; expected " + what + " that can be read"});
    } else if (!name.empty() && fs::is_directory(path, error)) {
      violations.push_back({at, path.string() + " is a folder; expected " + what});
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
  if (spec.trainer().command_size() == 0) return violations;
  const std::string& program = spec.trainer().command(0);
  if (program.find('/') == std::string::npos || program.find("{{") != std::string::npos) return violations;
  const fs::path path = (folder / program).lexically_normal();
  if (!fs::is_regular_file(path, error)) {
    violations.push_back({"trainer.command[0]", path.string() + " is no file; expected a program"});
  } else if (access(path.c_str(), X_OK) != 0) {
    violations.push_back(
        {"trainer.command[0]", path.string() + " is not executable; expected a program (chmod +x)"});
  }
  return violations;
}

}  // namespace winnow
