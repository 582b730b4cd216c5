#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "base/gpus.h"
#include "base/mutex.h"
#include "server/host/worker_process.h"

namespace winnow {

struct LocalWorkersOptions {
  int count = 0;
  int slots = 1;                  // of each worker
  std::string server;             // the server's address for the workers
  int port = 0;                   // of the server; their rendezvous ports are derived from it
  std::filesystem::path program;  // winnow-worker
  // The host's devices, divided among them in this order. Absent: each finds its own, which is right if there
  // are none.
  std::optional<std::vector<GpuDevice>> gpus;
  std::string gpu_health_command;               // see winnow-worker --gpu-health-command; "": none
  int warm_trainers = -1;                       // see winnow-worker --warm-trainers; -1: its default
  std::string run_as;                           // the user of their trainers; "": the workers' own
  std::filesystem::path state_dir;              // workers/local-1…, and `shared` for checkpoints and models
  std::filesystem::path secrets_dir;            // see winnow-worker --secrets-dir; empty: none
  std::function<void(const std::string&)> log;  // one line per call, on the supervisor's thread
};

// The devices of the worker of that index, from 1 to `count`: a part of at most one device more than
// another's.
std::vector<GpuDevice> GpusOfWorker(const std::vector<GpuDevice>& gpus, int index, int count);

// The name of the worker of that index.
std::string LocalWorkerName(int index);

// The embedded workers: keeps `count` winnow-worker processes alive, named local-1, local-2… It adopts a
// living one that an earlier server started, so that its trials go on; if its arguments differ, it is first
// asked to leave. A dead one is started again at once, or after a growing pause if it keeps dying.
class LocalWorkers {
 public:
  // FAILED_PRECONDITION: they cannot be started, or refuse `run_as`.
  static absl::StatusOr<std::unique_ptr<LocalWorkers>> Start(LocalWorkersOptions options);
  ~LocalWorkers();

  // Asks all to leave and waits for their end; kills those left after `patience`.
  void Stop(std::chrono::milliseconds patience);
  // Makes a waiting Stop kill them now.
  void Kill();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Place {
    std::string name;
    std::filesystem::path work_dir;
    std::vector<std::string> arguments;
    std::unique_ptr<WorkerProcess> process;
    Time started;
    Time start_at;  // when `process` is null
    std::chrono::milliseconds pause{0};
    bool wanted = true;  // false: a worker of an earlier server that had more of them
  };

  explicit LocalWorkers(LocalWorkersOptions options);
  void Run();
  void StartPlace(Place& place);
  void AdoptPlace(Place& place);
  void OnEnd(Place& place);
  void WaitForSomething();
  void Wake();
  Place MakePlace(int index) const;
  absl::Status LetTrainersThrough() const;

  LocalWorkersOptions options_;
  std::vector<Place> places_;  // used by the thread alone, once it runs
  int wake_ = -1;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool killing_ ABSL_GUARDED_BY(mutex_) = false;
  Time kill_at_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace winnow
