#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "server/engine/engine.h"

namespace winnow {

// The server's engine without threads, transport and real time: every batch is one transaction. An error ends
// the program.
class PlayedEngine {
 public:
  // `lease_us` of workers. The time is constant unless now_us is changed.
  PlayedEngine(const std::string& file, int64_t lease_us);
  ~PlayedEngine();

  // Runs a batch of these use cases.
  void Run(const std::function<void(Engine&)>& use_cases);
  // Creates a job in its own batch.
  std::string Create(const v1::TuningJobSpec& spec);

  Store& store() { return *store_; }
  int64_t now_us = 1'700'000'000'000'000;

 private:
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
};

// A worker that trains nothing. Call Tell inside a batch; Act, which the engine's answer calls, starts what
// the answer wants.
class PlayedWorker {
 public:
  PlayedWorker(int64_t number, int32_t slots);

  struct Running {
    int64_t reached = 0;
    v1::RunningAssignment state;
  };
  // By assignment id.
  std::map<std::string, Running> running;

  // One Sync that reports the next `reports` levels of everything that runs and, if `ends`, its end.
  void Tell(Engine& engine, int reports, bool ends);
  // Whether something is prepared and waits for other ranks.
  bool awaits_start() const;

 private:
  void Act(const v1::SyncResponse& response);
  v1::SyncRequest request_;
};

}  // namespace winnow
