#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "worker/host/event_loop.h"
#include "worker/host/process.h"

namespace winnow {

// Where a worker learns that its machine will be taken away.
struct PreemptionSource {
  std::string command;                         // run by /bin/sh; exit code 0 is a notice; "": none
  std::filesystem::path file;                  // that it exists is a notice; "": none
  std::chrono::milliseconds interval{5'000};   // from one end of the command to its next start
  std::chrono::milliseconds patience{30'000};  // with a command; a metadata service answers in milliseconds
};

// Looks for such a notice again and again. A command that fails says that there is none; one that hangs is
// killed and run again. Lives on the loop's thread.
class PreemptionWatch {
 public:
  // `notice` is called at most once, with "preempted: " and the first line that the command printed or the
  // file holds.
  PreemptionWatch(EventLoop* loop, PreemptionSource source, std::function<void(std::string)> notice);
  ~PreemptionWatch();
  PreemptionWatch(const PreemptionWatch&) = delete;
  PreemptionWatch& operator=(const PreemptionWatch&) = delete;

 private:
  void LookForFile();
  void RunCommand();
  void CommandEnded(const ProcessEnd& end);
  void Notice(const std::string& source, const std::string& text);

  EventLoop* const loop_;
  const PreemptionSource source_;
  const std::function<void(std::string)> notice_;
  std::unique_ptr<Process> process_;
  std::string output_;  // of the command that runs, its beginning
  bool noticed_ = false;
  bool complained_ = false;  // that the command cannot be run
  EventLoop::Id file_timer_ = 0;
  EventLoop::Id command_timer_ = 0;
  EventLoop::Id hang_timer_ = 0;
};

}  // namespace winnow
