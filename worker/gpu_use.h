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

// Asks nvidia-smi, or where there is none rocm-smi, now and again how much of the GPUs is used. Lives on the
// loop's thread.
class GpuUseMeter {
 public:
  // Calls `measured` with `gpus` and their use after each answer; without use when none has come within
  // `patience`. Without GPUs, or without both programs, it does nothing.
  GpuUseMeter(EventLoop* loop, std::vector<v1::Gpu> gpus, std::chrono::milliseconds interval,
              std::function<void(const std::vector<v1::Gpu>&)> measured,
              std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~GpuUseMeter();
  GpuUseMeter(const GpuUseMeter&) = delete;
  GpuUseMeter& operator=(const GpuUseMeter&) = delete;

 private:
  void Ask();
  void Answered(const ProcessEnd& end);
  void Tell(const std::string& answer);

  EventLoop* const loop_;
  std::vector<v1::Gpu> gpus_;
  const std::chrono::milliseconds interval_;
  const std::function<void(const std::vector<v1::Gpu>&)> measured_;
  const std::chrono::milliseconds patience_;
  bool asks_rocm_ = false;
  std::unique_ptr<Process> process_;
  std::string output_;
  EventLoop::Id next_timer_ = 0;
  EventLoop::Id hang_timer_ = 0;
};

}  // namespace winnow
