#pragma once

#include <filesystem>
#include <functional>
#include <map>
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
#include "worker/metrics/metrics_follower.h"
#include "worker/runs/held_program.h"
#include "worker/runs/kept_reports.h"
#include "worker/runs/log_keeper.h"
#include "worker/runs/metric_parser.h"
#include "worker/runs/redactor.h"
#include "worker/runs/repeat_values.h"
#include "worker/runs/seen_output.h"
#include "worker/runs/trainer_environment.h"
#include "worker/runs/trainer_place.h"
#include "worker/runs/trainer_process.h"
#include "worker/runs/trainers.h"

namespace winnow {

class TrainerParents;

// What a part has to do with programs that wait, and with parents.
struct TrainerWarmth {
  // The trial's program, if it waits at resource_from for an assignment like this one; else null.
  std::unique_ptr<TrainerProcess> waiting = nullptr;
  // Takes the program over when it has trained to resource_to and waits; called before `ended`. Null: it is
  // not offered to wait.
  std::function<void(std::unique_ptr<TrainerProcess>)> keep = nullptr;
  // Its program, if it was forked before there was a slot; else null.
  std::unique_ptr<HeldProgram> held = nullptr;
  // From which its program is forked if that is possible; outlive the run. Null: a process is started.
  TrainerParents* parents = nullptr;
  // What its program needs as long as it runs, such as its source; a parent needs it too.
  std::shared_ptr<const void> needed = nullptr;
};

// One running assignment: its process under the trainer contract, its reports and logs, and its outcome.
// Lives on the loop's thread.
class TrainerRun : public RankRun, private TrainerProcess::Listener {
 public:
  // An error is why the assignment failed before its process ran: RESOURCE_EXHAUSTED if the machine is at
  // fault; ABORTED: it was to go on with a suspended program, which is gone; otherwise the trainer. `user`:
  // null: the worker's own. `place` outlives the run.
  static absl::StatusOr<std::unique_ptr<TrainerRun>> Start(EventLoop* loop, const TrainerPlace& place,
                                                           const v1::Assignment& assignment,
                                                           const TrainerSeat& seat, Events events,
                                                           std::shared_ptr<const UserLease> user = nullptr,
                                                           TrainerWarmth warmth = {});
  ~TrainerRun() override;

  void Stop(Why why) override;
  void Kill(Why why) override;
  v1::PartStart part_start() const override { return part_start_; }

 private:
  enum class StopReason { kNone, kBudget, kUnwanted, kLeaving, kTimeLimit, kMemory };
  struct TimedEnd {
    ProcessEnd end;
    absl::Time at;
  };

  TrainerRun(EventLoop* loop, const TrainerPlace& place, const v1::Assignment& assignment,
             const TrainerSeat& seat, Events events);
  absl::Status MakeParser();
  absl::Status MakeLogs();
  absl::Status KeepReports();
  absl::Status StartProgram(std::shared_ptr<const UserLease> user);
  void MeasureUsage();
  void EndUsage();
  void WatchTime();
  void Output(Process::Stream stream, std::string_view bytes) override;
  void Waits(int64_t level) override;
  void Saves(int64_t level) override;
  void CanFork() override;
  void OverMemory() override;
  void PassEarly();
  void Read(Process::Stream stream, std::string_view bytes);
  // Keeps output without secrets.
  void Keep(Process::Stream stream, std::string_view bytes);
  void Line(std::string_view line);
  void Take(const std::optional<MetricReading>& reading);
  // Leaves the report out where the program reports more levels than are worth it; `needed`: never.
  void ReportSome(v1::Report report, bool needed);
  void Report(v1::Report report);
  void SendLastReport();
  void LineOfOtherRank(std::string_view line);
  void LookForOtherRanks();
  void Reached();
  // Whether the program is suspended at the end of the part.
  bool Suspends() const { return keep_ != nullptr && !assignment_.resumes(); }
  void Suspend();
  void HandOverSuspended();
  // Takes what was read of a suspended program, which goes on as soon as Start has returned. False: it has
  // ended.
  bool TakeOver(TrainerProcess& waiting);
  void Notice(v1::JobNotice::Kind kind, const std::string& text);
  // Tells the problem with what was read, if there is one; each kind once.
  void NoticeIf(v1::JobNotice::Kind kind, std::string (*problem)(const SeenOutput&));
  void NoticeOfWorlds();
  void NoticeOfReading(const MetricReading& reading);
  bool BeganFromNothing() const { return assignment_.resource_from() == 0 && !had_checkpoint_; }
  void NoticeOfEnd(const v1::Outcome& outcome);
  SeenOutput Seen() const;
  // Returns why a program that started from nothing and finished has reported no objective; empty: it has.
  std::string WithoutObjective() const;
  void StopFor(StopReason reason, EventLoop::Clock::duration grace);
  void Gone(const ProcessEnd& end) override;
  // A program that was to go on, or to begin, and ended without a word, had died while it waited.
  bool DiedWaiting() const {
    const bool waited = part_start_ == v1::CONTINUED || was_held_;
    return waited && assignment_.resumes() && !wrote_ && stop_reason_ == StopReason::kNone;
  }
  absl::Status StartAnew();
  // Whether a SIGTERM that this worker has not sent may have ended it before its level. An engine that takes
  // its node back sends one to all processes: then the worker's own comes within place_.signal_patience, and
  // the end is the worker's leaving, not the trainer's.
  bool MayBeOfEngine(const ProcessEnd& end) const;
  void Finish(const TimedEnd& end);
  void EndLogs();
  void EndOutput();
  // Returns the sentence if lack of memory ended it; otherwise empty.
  std::string OutOfMemory(const ProcessEnd& end, const std::string& words) const;
  v1::Outcome Judge(const TimedEnd& timed) const;
  // By the clock as it was when the run began: if it is set meanwhile, the run has taken no longer.
  absl::Time Now() const;

  EventLoop* const loop_;
  const TrainerPlace& place_;
  const v1::Assignment assignment_;
  const TrainerSeat seat_;
  const Events events_;
  const EventLoop::Clock::duration grace_;
  const absl::Time start_time_;
  const EventLoop::TimePoint begun_;           // the same moment
  std::optional<RepeatValues> repeat_;         // of an assignment that is a repeat
  std::optional<MetricParser> parser_;         // for rank 0; for another rank, of the objective alone
  std::unique_ptr<MetricsFollower> follower_;  // of trainer.metrics_file, for rank 0; null: standard output
  LineSplitter lines_;
  int64_t line_count_ = 0;       // that are not blank
  std::string last_line_;        // the last of these
  bool cut_line_ = false;        // a line was longer than what is read of one
  bool had_checkpoint_ = false;  // when it started
  bool told_level_ = false;
  bool told_objective_ = false;
  std::set<v1::JobNotice::Kind> noticed_;
  bool to_look_ = false;  // rank above 0: check its connections once all output is read
  bool is_lone_ = false;  // a check found no connection; all lines from now on were written later
  int lone_lines_ = 0;    // lines that came after that
  int looks_ = 0;
  EventLoop::Clock::time_point next_look_{};
  bool looked_enough_ = false;       // a check found a connection, or it was noticed that there is none
  std::vector<Redactor> redactors_;  // by stream; empty: the trainer has no secrets
  std::optional<KeptReports> kept_;  // of rank 0 of a trial that resumes
  std::optional<LogKeeper> stdout_;
  std::optional<LogKeeper> stderr_;
  std::map<std::string, std::string> secrets_;                 // variables and values
  std::function<void(std::unique_ptr<TrainerProcess>)> keep_;  // TrainerWarmth::keep
  TrainerParents* parents_ = nullptr;                          // TrainerWarmth::parents
  std::shared_ptr<const void> needed_;                         // TrainerWarmth::needed
  v1::PartStart part_start_ = v1::NEW_PROCESS;
  bool was_held_ = false;                    // TrainerWarmth::held has begun
  HeldProgram::Written early_;               // what it wrote before, until it is read
  bool wrote_ = false;                       // the program has written something in this part
  std::optional<absl::Time> saved_from_;     // when it had trained, and only saved
  std::vector<MetricReading> beyond_;        // Suspends: readings of levels above resource_to
  EventLoop::Id suspend_timer_ = 0;          // of what follows a TakeOver or a Suspend
  std::unique_ptr<TrainerProcess> trainer_;  // null: it waits, and was handed over
  bool reached_ = false;                     // it has reported resource_to
  std::optional<v1::Report> last_report_;    // of resource_to, not sent yet
  EventLoop::Id report_timer_ = 0;
  int64_t levels_ = 0;                        // with values, in this part
  std::optional<v1::Report> left_out_;        // the newest that was not reported
  EventLoop::Clock::time_point next_some_{};  // when the next may be reported that is not needed
  StopReason stop_reason_ = StopReason::kNone;
  bool leaves_ = false;                   // the worker was told to leave when the program had ended
  std::optional<TimedEnd> doubtful_end_;  // an end that MayBeOfEngine; end_timer_ reports it
  EventLoop::Id end_timer_ = 0;
  EventLoop::Id exit_timer_ = 0;
  EventLoop::Id limit_timer_ = 0;  // of max_attempt_time
  EventLoop::Id usage_timer_ = 0;  // until the program of a container is known
  int64_t host_kills_before_ = 0;  // HostOomKills before its container; without one not used
};

}  // namespace winnow
