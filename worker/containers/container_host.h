#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "worker/containers/container_engine.h"
#include "worker/containers/engine_call.h"
#include "worker/containers/image_keeper.h"
#include "worker/host/event_loop.h"

namespace winnow {

// The containers of a worker's trials. Containers of podman and docker are not processes of the worker, so
// they would outlive it. They have labels, by which they are removed: by a guard, a process that notices the
// worker's end; and by the next worker in the same folder, should the guard be killed too. Lives on the
// loop's thread, longer than the trainers.
class ContainerHost {
 public:
  // Removes what a worker before left. `environment` is the worker's own; `other_users`: see ImageKeeper.
  ContainerHost(EventLoop* loop, std::filesystem::path work, const std::vector<std::string>& environment,
                bool other_users);
  // The guards remove what is left.
  ~ContainerHost();
  ContainerHost(const ContainerHost&) = delete;
  ContainerHost& operator=(const ContainerHost&) = delete;

  ImageKeeper& images() { return images_; }
  // For files that a container is started with; exists.
  const std::filesystem::path& folder() const { return folder_; }
  // What engines are started with.
  const std::vector<std::string>& environment() const { return environment_; }

  // A name that no other container of the host has, and the labels by which this worker's are found.
  std::string NewName();
  std::vector<std::pair<std::string, std::string>> Labels() const;
  // To be called before a container of an engine with a monitor is started. RESOURCE_EXHAUSTED: its end could
  // not be guaranteed.
  absl::Status Guard(ContainerEngine engine);
  // Kills and removes the container, if it is still there; then calls `done`, unless this is destroyed
  // before. Where the engine fails, it is tried again for about two minutes.
  void Remove(ContainerEngine engine, const std::string& name, std::function<void()> done);
  // The monitor of a container, a child by adoption, ends by itself, and is then reaped.
  void ReapMonitor(pid_t monitor);

 private:
  struct Removal {
    ContainerEngine engine;
    std::string name;
    std::function<void()> done;
    int tries = 0;
  };
  void TryToRemove(Removal removal, int number);
  void Removed(Removal removal, int number, bool gone, const std::string& why);
  void Reap();
  absl::Status StartGuard(ContainerEngine engine);

  EventLoop* const loop_;
  const std::filesystem::path folder_;
  const std::string work_;
  const std::vector<std::string> environment_;
  const std::string instance_;  // of this worker; no other has the same
  ImageKeeper images_;
  std::map<ContainerEngine, int> guards_;  // the ends of pipes at which guards wait
  int last_name_ = 0;
  struct Try {
    std::unique_ptr<EngineCall> call;
    EventLoop::Id pause = 0;  // before the next
  };
  std::map<int, Try> removals_;
  int last_removal_ = 0;
  std::set<pid_t> monitors_;
  EventLoop::Id reap_timer_ = 0;
};

}  // namespace winnow
