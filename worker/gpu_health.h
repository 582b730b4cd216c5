#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "winnow/v1/tuning.pb.h"
#include "worker/host/event_loop.h"
#include "worker/host/process.h"

namespace winnow {

// How a worker learns that a GPU has failed.
struct GpuCheck {
  std::string
      command;  // run by /bin/sh with the variables of one device; not exit code 0 is a fault; "": none
  std::chrono::milliseconds interval{60'000};  // from the end of a round of all devices to the next
  // limit of a run; a longer one is ended, and is a fault; the device is not checked again before it is gone
  std::chrono::milliseconds patience{30'000};
};

// What a device has before its first check.
inline constexpr char kUnchecked[] = "its health is not known yet";

// The devices as they are before their first check: with a command they all have the fault kUnchecked.
std::vector<v1::Gpu> BeforeCheck(const GpuCheck& check, std::vector<v1::Gpu> gpus);

// Checks each device now and again. Lives on the loop's thread.
class GpuHealth {
 public:
  // Calls `changed` with all devices each time the fault of one has changed. `gpus`: of BeforeCheck.
  GpuHealth(EventLoop* loop, GpuCheck check, std::vector<v1::Gpu> gpus,
            std::function<void(const std::vector<v1::Gpu>&)> changed);
  ~GpuHealth();
  GpuHealth(const GpuHealth&) = delete;
  GpuHealth& operator=(const GpuHealth&) = delete;

 private:
  void CheckNext();
  void Checked(const ProcessEnd& end);
  void Hangs();
  void GoOn();
  void SetFault(const std::string& fault);

  EventLoop* const loop_;
  const GpuCheck check_;
  std::vector<v1::Gpu> gpus_;
  const std::function<void(const std::vector<v1::Gpu>&)> changed_;
  size_t next_ = 0;  // the device that is checked, or will be
  std::unique_ptr<Process> process_;
  std::string output_;                          // its beginning
  std::vector<std::unique_ptr<Process>> hung_;  // by device: its command, killed and not gone yet
  EventLoop::Id next_timer_ = 0;
  EventLoop::Id hang_timer_ = 0;
};

}  // namespace winnow
