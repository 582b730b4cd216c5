#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"
#include "worker/containers/container_command.h"
#include "worker/containers/container_host.h"
#include "worker/host/process.h"

namespace winnow {

// The container of a trial's program, from before its start until nothing of it is left. Lives on the loop's
// thread.
class TrialContainer {
 public:
  // What the container has of the host.
  struct Needs {
    std::vector<std::string> variables;  // of the contract and the job, "NAME=value"
    std::vector<ContainerMount> mounts;  // those that do not exist are left out
    std::string working_directory;       // empty: the image's
    const TrainerUser* user = nullptr;   // null: the worker's own
    bool control = false;                // descriptor 3 is passed on
  };

  // `assignment.container()` has an image and an engine of ImageKeeper. INVALID_ARGUMENT: a variable or a
  // path cannot be told to the engine; RESOURCE_EXHAUSTED: the machine is at fault.
  static absl::StatusOr<std::unique_ptr<TrialContainer>> Make(ContainerHost* host,
                                                              const v1::Assignment& assignment, Needs needs);
  // Removes the container if it may be there.
  ~TrialContainer();
  TrialContainer(const TrialContainer&) = delete;
  TrialContainer& operator=(const TrialContainer&) = delete;

  // The process that runs it: its command, and its environment without the marks of a trial.
  std::vector<std::string> Command() const { return ContainerCommand(plan_); }
  std::vector<std::string> Environment() const;
  // Where it starts, because podman's monitor leaves a file there when memory ends; "": anywhere.
  std::string WorkingDirectory() const { return is_apart() ? host_->folder().string() : ""; }
  // Whether the engine limits it and changes its user; otherwise its process is to be limited, and to be
  // started as the user.
  bool is_apart() const { return HasMonitor(plan_.engine); }

  // The id of the program's process; absent: not known.
  std::optional<pid_t> program() const;

  void ProcessStarted() { is_gone_ = false; }
  // The process that runs it has ended. Calls `gone`, perhaps at once, with how the program ended when
  // nothing of the container is left, unless this is destroyed before. `stopped`: somebody ended the process.
  void ProcessEnded(const ProcessEnd& end, bool stopped, std::function<void(const ProcessEnd&)> gone);

 private:
  TrialContainer(ContainerHost* host, ContainerPlan plan, std::vector<std::string> variables)
      : host_(host), plan_(std::move(plan)), variables_(std::move(variables)) {}
  absl::Status WriteVariables() const;
  void RemoveFiles() const;

  ContainerHost* const host_;
  const ContainerPlan plan_;
  const std::vector<std::string> variables_;
  bool is_gone_ = true;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// What a container needs to read a channel at this path of the host: it, or the folder
// of a path that is only the beginning of names, such as those of FIFOs; and if the worker made it, below
// `views`, the folders into which links in it lead.
std::vector<ContainerMount> ChannelMounts(const std::filesystem::path& path,
                                          const std::filesystem::path& views);

// The variables among `environment`, a list of "NAME=value", that a container gets: those of the job and of
// the contract. Others of the worker, such as PATH and LD_LIBRARY_PATH, are about its host. `has_home`: HOME
// and TMPDIR are a folder of the trial.
std::vector<std::string> ContainerVariables(const v1::Assignment& assignment, bool has_home,
                                            const std::vector<std::string>& environment);

}  // namespace winnow
