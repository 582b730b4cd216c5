#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "worker/host/event_loop.h"
#include "worker/host/process.h"

namespace winnow {

// How a worker learns that its machine will be preempted.
struct PreemptionSource {
  std::string command;                        // run by /bin/sh; exit code 0 is a notice; "": none
  std::filesystem::path file;                 // its existence is a notice; "": none
  std::chrono::milliseconds interval{5'000};  // from the end of the command to its next start
  // limit of a command's run; a metadata service answers in milliseconds
  std::chrono::milliseconds patience{30'000};
};

// Polls for a preemption notice. A command that fails means no notice; one that hangs is killed and run
// again. Lives on the loop's thread.
class PreemptionWatch {
 public:
  // Calls `notice` at most once: "preempted: " and the first line of the command's output or of the file.
  PreemptionWatch(EventLoop* loop, PreemptionSource source, std::function<void(std::string)> notice);
  ~PreemptionWatch();
  PreemptionWatch(const PreemptionWatch&) = delete;
  PreemptionWatch& operator=(const PreemptionWatch&) = delete;

 private:
  void LookForFile();
  void RunCommand();
  void CommandEnded(const ProcessEnd& end);
  void CommandHangs();
  void Notice(const std::string& source, const std::string& text);

  EventLoop* const loop_;
  const PreemptionSource source_;
  const std::function<void(std::string)> notice_;
  int64_t run_ = 0;  // of the command, the newest
  std::unique_ptr<Process> process_;
  std::map<int64_t, std::unique_ptr<Process>> hung_;  // by run: killed and not gone yet
  std::string output_;                                // beginning of the output of the running command
  bool noticed_ = false;
  bool complained_ = false;  // the log says that the command cannot be run
  EventLoop::Id file_timer_ = 0;
  EventLoop::Id command_timer_ = 0;
  EventLoop::Id hang_timer_ = 0;
};

}  // namespace winnow
