#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/task_threads.h"
#include "worker/containers/container_host.h"
#include "worker/host/limits.h"
#include "worker/host/run_as.h"
#include "worker/host/usage.h"

namespace winnow {

// Folders of a worker, and its addresses.
struct TrainerPlace {
  std::filesystem::path work;  // absolute
  std::filesystem::path shared;
  std::string program_directory;  // searched before PATH
  std::string host;
  std::vector<std::string> environment;  // inherited by every trainer
  Limiter* limiter = nullptr;            // outlives the trainers; null: limits are not enforced
  HostUsage* usage = nullptr;            // likewise; null: usage is not measured
  std::string worker = "";               // its name
  std::filesystem::path secrets = {};    // see ReadSecrets; empty: none
  const TrainerUsers* users = nullptr;   // outlives the trainers; null: they run as the worker's own user
  std::filesystem::path python = {};     // folder of winnow_trainer, for PYTHONPATH; empty: none
  ContainerHost* containers = nullptr;   // outlives the trainers; null: no trainer runs in a container
  bool is_of_pool = false;               // an engine, which may take its node back, has started the worker
  // How long the worker's own SIGTERM may come after that of a trainer, where an engine sends both.
  std::chrono::milliseconds signal_patience{500};
  TaskThreads* removal = nullptr;  // outlives the trainers: removes what they leave; null: it is not deferred
  std::filesystem::path views = {};  // ViewsFolder, with channels that the worker makes; empty: none
};

}  // namespace winnow
