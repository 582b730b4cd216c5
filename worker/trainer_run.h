#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "winnow/v1/worker.pb.h"
#include "worker/event_loop.h"
#include "worker/line_splitter.h"
#include "worker/log_keeper.h"
#include "worker/metric_parser.h"
#include "worker/process.h"

namespace winnow {

// Where a worker keeps things, and how others reach it.
struct TrainerPlace {
  std::filesystem::path work;  // absolute
  std::filesystem::path shared;
  std::string program_directory;  // searched before PATH
  std::string host;
  std::vector<std::string> environment;  // inherited by every trainer
};

// One assignment being carried out: its process under the trainer contract, what it reports and logs, and how
// it ended. Lives on the loop's thread.
class TrainerRun {
 public:
  struct Events {
    std::function<void(v1::Report)> report;
    std::function<void(v1::GetLogsRequest::Stream, int64_t offset, std::string_view data, bool truncated)>
        log;
    std::function<void(v1::Outcome)> ended;  // the last call; may delete the TrainerRun
  };
  enum class Why { kUnwanted, kLeaving };

  // An error is why the assignment failed before its process ran. `free_port` serves as MASTER_PORT where the
  // assignment names none.
  static absl::StatusOr<std::unique_ptr<TrainerRun>> Start(EventLoop* loop, const TrainerPlace& place,
                                                           const v1::Assignment& assignment, int free_port,
                                                           Events events);
  ~TrainerRun();

  // SIGTERM, and SIGKILL after the assignment's grace period. The first reason counts.
  void Stop(Why why);
  // SIGKILL at once.
  void Kill(Why why);

 private:
  enum class StopReason { kNone, kBudget, kUnwanted, kLeaving };

  TrainerRun(EventLoop* loop, const v1::Assignment& assignment, Events events);
  absl::Status Prepare(const TrainerPlace& place);
  void Output(Process::Stream stream, std::string_view bytes);
  void Line(std::string_view line);
  void StopFor(StopReason reason, EventLoop::Clock::duration grace);
  void Gone(const ProcessEnd& end);
  v1::Outcome Judge(const ProcessEnd& end) const;

  EventLoop* const loop_;
  const v1::Assignment assignment_;
  const Events events_;
  const EventLoop::Clock::duration grace_;
  const absl::Time start_time_;
  std::optional<MetricParser> parser_;  // of rank 0
  LineSplitter lines_;
  std::optional<LogKeeper> stdout_;
  std::optional<LogKeeper> stderr_;
  std::unique_ptr<Process> process_;
  bool reached_ = false;  // it has reported resource_to
  StopReason stop_reason_ = StopReason::kNone;
  EventLoop::Id exit_timer_ = 0;
};

// An outcome of now, for what failed before it started.
v1::Outcome FailedOutcome(std::string reason);

}  // namespace winnow
