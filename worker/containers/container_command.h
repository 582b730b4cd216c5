#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "worker/containers/container_engine.h"

namespace winnow {

// A path of the host that the container has at the same place.
struct ContainerMount {
  std::string path;
  bool writable = false;

  bool operator==(const ContainerMount&) const = default;
};

// How the GPUs of a rank come into its container.
enum class GpuAccess {
  kNone,    // by nothing but their variables
  kCdi,     // podman, docker: a device of the Container Device Interface for each
  kGpus,    // docker: --gpus
  kAmd,     // podman, docker: the device files of ROCm
  kNvidia,  // apptainer: --nv
  kRocm,    // apptainer: --rocm
};

// The way for this engine on this host, by the files below `root`: NVIDIA's and AMD's device files, and the
// lists of devices that CDI has.
GpuAccess FindGpuAccess(ContainerEngine engine, const std::string& root = "/");

// The value of CUDA_VISIBLE_DEVICES in the container: the driver numbers the devices from 0 where a container
// has only its own. UUIDs are the same everywhere.
std::string VisibleGpus(const std::vector<std::string>& ids, GpuAccess access);

// A program in a container.
struct ContainerPlan {
  ContainerEngine engine = ContainerEngine::kPodman;
  std::string image;
  std::vector<std::string> options;  // of the user, for the engine
  std::vector<std::string> command;
  std::string name;                                         // podman, docker
  std::vector<std::pair<std::string, std::string>> labels;  // likewise
  std::string variables_file;                               // likewise: lines NAME=value
  std::string program_id_file;  // podman: gets the id of the program's process; empty: none
  std::string monitor_id_file;  // likewise, of the process that watches it
  std::vector<ContainerMount> mounts;
  std::string working_directory;  // empty: the image's
  uid_t uid = 0;                  // podman, docker: whom its files belong to; apptainer uses its caller
  gid_t gid = 0;
  bool maps_user = false;       // podman without root: the caller keeps its id in the container
  bool without_rights = false;  // no capabilities, and none can be gained
  bool control = false;         // it inherits descriptor 3
  double cpus = 0;              // podman, docker; 0: unlimited
  double memory_gib = 0;        // likewise
  std::vector<std::string> gpus;
  GpuAccess gpu_access = GpuAccess::kNone;
};

// The command that runs it. A container is a file system and no more: it has the network, the processes and
// the shared memory of the host, as Apptainer's have by default, so that ranks reach each other and a worker
// sees what it runs. Options of the user come last, so that they take precedence.
std::vector<std::string> ContainerCommand(const ContainerPlan& plan);

// INVALID_ARGUMENT: a path that no engine can be told, because it has a comma, a colon or a line end.
absl::Status CheckMount(const ContainerMount& mount);

// Whether an option gives a container no right that its trial does not have without it. Others would give a
// trial under --run-as the rights of the worker's user.
bool IsHarmless(std::string_view option);

}  // namespace winnow
