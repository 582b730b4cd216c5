#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "winnow/v1/worker.pb.h"
#include "worker/host/event_loop.h"
#include "worker/host/limits.h"
#include "worker/host/line_splitter.h"
#include "worker/host/process.h"
#include "worker/host/run_as.h"
#include "worker/host/usage.h"
#include "worker/log_keeper.h"
#include "worker/metric_parser.h"
#include "worker/redactor.h"
#include "worker/repeat_values.h"
#include "worker/trainer_environment.h"
#include "worker/trainers.h"

namespace winnow {

// Folders of a worker, and its addresses.
struct TrainerPlace {
  std::filesystem::path work;  // absolute
  std::filesystem::path shared;
  std::string program_directory;  // searched before PATH
  std::string host;
  std::vector<std::string> environment;  // inherited by every trainer
  Limiter* limiter = nullptr;            // outlives the trainers; null: limits are not enforced
  HostUsage* usage = nullptr;            // likewise; null: usage is not measured
  std::string worker = "";               // its name
  std::filesystem::path secrets = {};    // see ReadSecrets; empty: none
  const TrainerUsers* users = nullptr;   // outlives the trainers; null: they run as the worker's own user
};

// One running assignment: its process under the trainer contract, its reports and logs, and its outcome.
// Lives on the loop's thread.
class TrainerRun : public RankRun {
 public:
  // An error is why the assignment failed before its process ran: RESOURCE_EXHAUSTED if the machine is at
  // fault, otherwise the trainer. `user`: null: the worker's own.
  static absl::StatusOr<std::unique_ptr<TrainerRun>> Start(EventLoop* loop, const TrainerPlace& place,
                                                           const v1::Assignment& assignment,
                                                           const TrainerSeat& seat, Events events,
                                                           std::shared_ptr<const UserLease> user = nullptr);
  ~TrainerRun() override;

  void Stop(Why why) override;
  void Kill(Why why) override;

 private:
  enum class StopReason { kNone, kBudget, kUnwanted, kLeaving, kTimeLimit, kMemory };

  TrainerRun(EventLoop* loop, HostUsage* usage, const v1::Assignment& assignment, Events events);
  absl::Status Prepare(const TrainerPlace& place);
  absl::Status MakeLogs(const TrainerPlace& place);
  absl::Status MakeHome(const TrainerPlace& place, const TrainerUser& user);
  void WatchLimits();
  void Output(Process::Stream stream, std::string_view bytes);
  // Keeps output without secrets.
  void Keep(Process::Stream stream, std::string_view bytes);
  void Line(std::string_view line);
  void Report(v1::Report report);
  void LineOfOtherRank(std::string_view line);
  void LookForOtherRanks();
  void Reached();
  void Notice(v1::JobNotice::Kind kind, const std::string& text);
  void NoticeOfLevel(int64_t level);
  void NoticeOfWorlds();
  void NoticeOfReading(const MetricReading& reading);
  bool BeganFromNothing() const { return assignment_.resource_from() == 0 && !had_checkpoint_; }
  void NoticeOfEnd(const v1::Outcome& outcome);
  std::string DescribeLines() const;
  // Returns why a program that started from nothing and finished has reported no objective; empty: it has.
  std::string WithoutObjective() const;
  void StopFor(StopReason reason, EventLoop::Clock::duration grace);
  void Gone(const ProcessEnd& end);
  // Returns the sentence if lack of memory ended it; otherwise empty.
  std::string OutOfMemory(const ProcessEnd& end, const std::string& words) const;
  v1::Outcome Judge(const ProcessEnd& end) const;

  EventLoop* const loop_;
  HostUsage* const usage_;  // may be null
  const v1::Assignment assignment_;
  const Events events_;
  const EventLoop::Clock::duration grace_;
  const absl::Time start_time_;
  std::optional<RepeatValues> repeat_;  // of an assignment that is a repeat
  std::optional<MetricParser> parser_;  // for rank 0; for another rank, of the objective alone
  LineSplitter lines_;
  int64_t line_count_ = 0;   // that are not blank
  std::string last_line_;    // the last of these
  bool had_checkpoint_ = false;  // when it started
  bool told_level_ = false;
  bool told_objective_ = false;
  std::set<v1::JobNotice::Kind> noticed_;
  bool to_look_ = false;  // rank above 0: check its connections once all output is read
  bool is_lone_ = false;  // a check found no connection; all lines from now on were written later
  int lone_lines_ = 0;    // lines that came after that
  int looks_ = 0;
  EventLoop::Clock::time_point next_look_{};
  bool looked_enough_ = false;  // a check found a connection, or it was noticed that there is none
  std::vector<Redactor> redactors_;  // by stream; empty: the trainer has no secrets
  std::optional<LogKeeper> stdout_;
  std::optional<LogKeeper> stderr_;
  std::filesystem::path home_;  // of its user during this attempt, removed with it; empty: none
  std::unique_ptr<Confinement> confinement_;
  std::unique_ptr<Process> process_;
  bool reached_ = false;  // it has reported resource_to
  StopReason stop_reason_ = StopReason::kNone;
  EventLoop::Id exit_timer_ = 0;
  EventLoop::Id limit_timer_ = 0;  // of max_attempt_time
};

}  // namespace winnow
