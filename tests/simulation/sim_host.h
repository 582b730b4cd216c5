#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tests/simulation/setting.h"
#include "tests/simulation/sim_server.h"
#include "tests/simulation/sim_trainers.h"
#include "worker/agent.h"

namespace winnow {

// A host with a worker: its agent is started, killed, stalled, asked to leave and restarted, and its
// connection to the server loses, duplicates, delays and reorders messages.
class SimHost {
 public:
  SimHost(Setting* setting, SimServer* server, const HostProfile* profile);
  ~SimHost();

  // Starts a new process of its worker, with the previous work folder or a new one. REQUIRES: none runs.
  void Start(bool new_folder);
  // Like kill -9, including all its trainers.
  void Kill();
  void Leave();
  void Stall(int64_t us);
  // Loses messages to the server for that long, or only answers.
  void CutOff(int64_t us, bool requests_too);
  void JumpClock(int64_t us) { clock_skew_us_ += us; }
  // Ends all lasting faults.
  void Heal();

  bool running() const { return process_ != nullptr; }
  // Whether any program waits on it for its trial's next part.
  bool Waits() const;
  const std::string& name() const { return profile_->name; }

 private:
  struct Process;
  class Line;

  std::string RandomDigits(size_t count);
  void Left(const absl::Status& status);
  void StartLater(int64_t us);

  Setting* const setting_;
  SimServer* const server_;
  const HostProfile* const profile_;
  std::string folder_;
  int64_t clock_skew_us_ = 0;
  int64_t requests_cut_until_us_ = 0;
  int64_t answers_cut_until_us_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace winnow
