#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/host/event_loop.h"
#include "worker/host/process.h"

namespace winnow {

// A command of an engine, such as a pull, while it runs. Its destructor kills it. Lives on the loop's thread.
class EngineCall {
 public:
  struct Result {
    int exit_code = 0;
    bool out_of_time = false;
    std::string output;  // the end of its standard output
    std::string errors;  // the end of its standard error
  };
  using Done = std::function<void(const Result&)>;

  // `told` gets each line as it is written; may be null. `done` is not called from within another call of
  // this class, and may delete it. An error is why it did not start.
  static absl::StatusOr<std::unique_ptr<EngineCall>> Start(EventLoop* loop, std::vector<std::string> command,
                                                           const std::vector<std::string>& environment,
                                                           std::chrono::seconds patience,
                                                           std::function<void(std::string_view)> told,
                                                           Done done);
  ~EngineCall();
  EngineCall(const EngineCall&) = delete;
  EngineCall& operator=(const EngineCall&) = delete;

 private:
  explicit EngineCall(EventLoop* loop) : loop_(loop) {}

  EventLoop* const loop_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<Process> process_;
  EventLoop::Id timer_ = 0;
  Result result_;
};

// The last line that is not blank, without blanks around it; at most 500 bytes.
std::string LastLine(std::string_view text);

}  // namespace winnow
