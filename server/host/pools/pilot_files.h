#pragma once

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/host/pools/pool.h"

namespace winnow {

// The folders of allocations in a directory that all nodes see: FOLDER/NAME with the files of the request,
// readable by this user only, and with what its workers print, in the file `output`.
class PilotFiles {
 public:
  explicit PilotFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path Of(const std::string& allocation) const { return folder_ / allocation; }
  std::filesystem::path OutputOf(const std::string& allocation) const { return Of(allocation) / "output"; }
  // FAILED_PRECONDITION names the file that cannot be written.
  absl::Status Write(const AllocationRequest& request) const;
  // As Write, with the script that NodeScript makes, as kNodeScript. Returns the script's path.
  absl::StatusOr<std::filesystem::path> WriteScript(AllocationRequest request,
                                                    const std::string& scratch) const;
  absl::Status Remove(const std::string& allocation) const;
  // The end of what the allocation's workers have printed, at most a few lines; "": nothing.
  std::string LastWords(const std::string& allocation) const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

// The text in single quotes for a shell.
std::string ShellQuoted(const std::string& text);
// An argument of a worker's command for a shell: {node} is `node`, {files} and {scratch} are the variables
// winnow_files and winnow_scratch, and `name` is the variable winnow_name.
std::string ShellArgument(const std::string& argument, const std::string& name, const std::string& node);

// A script that runs a worker's command in a scratch directory of its own, below the directory in
// winnow_scratch, which it removes once the worker has ended. Signals to all processes of the script leave
// that to it.
std::string PilotScript(const std::string& command, const std::string& node);

// The name of a script that runs the worker of one node of an allocation, in the allocation's folder. Its
// argument is the node's number, from 0; what the worker prints goes to the allocation's output.
inline constexpr char kNodeScript[] = "run.sh";
// `scratch`: a directory on the nodes, or a variable that names it ("$TMPDIR").
std::string NodeScript(const PilotFiles& files, const AllocationRequest& request, const std::string& scratch);

}  // namespace winnow
