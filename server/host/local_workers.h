#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/host/worker_process.h"

namespace winnow {

struct LocalWorkersOptions {
  int count = 0;
  int slots = 1;                                // of each
  std::string server;                           // the address that they are to reach
  int port = 0;                                 // of the server; their rendezvous ports are derived from it
  std::filesystem::path program;                // winnow-worker
  std::string run_as;                           // whom their trainers run as; "": as the workers themselves
  std::filesystem::path state_dir;              // workers/local-1…, and `shared` for checkpoints and models
  std::filesystem::path secrets_dir;            // see winnow-worker --secrets-dir; empty: none
  std::function<void(const std::string&)> log;  // one line each; called on the supervisor's thread
};

// The embedded workers: keeps `count` winnow-worker processes alive, named local-1, local-2… One that an
// earlier server had started and that still lives is adopted, so that its trials go on; if it was started
// with other arguments it is first asked to leave. A dead one is started anew at once, or after a growing
// pause if it keeps dying.
class LocalWorkers {
 public:
  // FAILED_PRECONDITION: they cannot be started, or refuse `run_as`.
  static absl::StatusOr<std::unique_ptr<LocalWorkers>> Start(LocalWorkersOptions options);
  ~LocalWorkers();

  // Asks all to leave and waits until they are gone; those that are not after `patience` are killed.
  void Stop(std::chrono::milliseconds patience);
  // Makes a Stop that waits end now.
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
    bool wanted = true;  // false: of an earlier server that had more workers
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
  std::vector<Place> places_;  // the thread's own, once it runs
  int wake_ = -1;
  std::mutex mutex_;
  bool stopping_ = false;  // guarded by mutex_
  bool killing_ = false;   // guarded by mutex_
  Time kill_at_;           // guarded by mutex_
  std::thread thread_;
};

}  // namespace winnow
