#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"
#include "worker/containers/container_engine.h"
#include "worker/containers/engine_call.h"
#include "worker/host/event_loop.h"

namespace winnow {

// An image that is on this host.
struct ContainerImage {
  ContainerEngine engine = ContainerEngine::kPodman;
  std::string reference;  // as the engine's `run` takes it: its id, or a file
};

// The images of this worker's trials. Each is looked for once, and pulled if the host does not have it; all
// trials of the worker then use the same one. Methods and callbacks run on the loop's thread.
class ImageKeeper {
 public:
  // `environment`: of the engines. `work`: where images of apptainer are kept. `other_users`: trials run as
  // other users than the worker, so options must be harmless.
  ImageKeeper(EventLoop* loop, std::filesystem::path work, std::vector<std::string> environment,
              bool other_users);
  // Kills what runs; no callback runs afterwards.
  ~ImageKeeper();

  using Progress = std::function<void(const std::string& text)>;
  using Done = std::function<void(absl::StatusOr<ContainerImage>)>;
  // `progress`: what is done meanwhile, "pulls python:3.12: Copying blob 3f2a"; may be null.
  // FAILED_PRECONDITION with the field, its value and what the engine said: the engine, the image or an
  // option cannot be had here; any other error is this machine's.
  void Prepare(const std::string& assignment, const v1::ContainerSpec& spec, Progress progress, Done done);
  // Afterwards that Prepare calls nothing. A pull that nobody waits for is killed.
  void Abandon(const std::string& assignment);
  // A container of the image could not be started: the next Prepare looks for it again.
  void Forget(const std::string& reference);

 private:
  using Name = std::pair<ContainerEngine, std::string>;
  struct Waiter {
    std::string assignment;
    Progress progress;
    Done done;
  };
  struct Making {
    std::vector<Waiter> waiters;
    std::unique_ptr<EngineCall> call;
  };

  absl::StatusOr<ContainerEngine> Choose(const v1::ContainerSpec& spec) const;
  void Look(const Name& name, bool pulled);
  void Pull(const Name& name);
  void Pulled(const Name& name, const EngineCall::Result& result);
  void Run(const Name& name, std::vector<std::string> command, bool tells, EngineCall::Done done);
  void Finish(const Name& name, absl::StatusOr<std::string> reference);
  std::filesystem::path FileOf(const std::string& image) const;

  EventLoop* const loop_;
  const std::filesystem::path folder_;
  const std::vector<std::string> environment_;
  const bool other_users_;
  std::map<Name, Making> making_;
  std::map<Name, std::string> ready_;  // references
};

}  // namespace winnow
