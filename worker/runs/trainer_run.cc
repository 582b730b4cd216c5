#include "worker/runs/trainer_run.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "artifact/folder.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/host/leftover_processes.h"
#include "worker/host/process_tree.h"
#include "worker/host/rank_connections.h"
#include "worker/runs/failure_cause.h"
#include "worker/runs/secrets.h"
#include "worker/runs/trainer_environment.h"
#include "worker/runs/trainer_parents.h"
#include "worker/runs/trial_directories.h"
#include "worker/runs/waiting_trainers.h"

namespace winnow {
namespace {

constexpr size_t kMaxLineBytes = 64 << 10;
constexpr int64_t kMaxShippedBytes = 1 << 20;  // of the beginning of one stream
constexpr std::chrono::seconds kDefaultGrace(10);
// How long the report of a part's last level waits for the program's word that it waits.
constexpr std::chrono::milliseconds kReportPatience(10);
// A program may report each level up to that many in a part; then one in this time, the level that the part
// trains to, and the last.
constexpr int64_t kMostLevels = 50'000;
constexpr std::chrono::seconds kSomePause(1);
// Lines with the objective that another rank than 0 may write without a connection before it counts as a
// separate world.
constexpr int kLoneLines = 2;
// How often a container is asked for the id of its program until it has one.
constexpr std::chrono::milliseconds kProgramPause(200);
// The first checks of a rank's connections are made whenever it has reported. After that many, at least
// this many times the duration of a check passes before the next.
constexpr int kPromptLooks = 10;
constexpr int kLookPause = 20;

void SetTime(absl::Time time, google::protobuf::Timestamp* proto) {
  const int64_t nanoseconds = absl::ToUnixNanos(time);
  proto->set_seconds(nanoseconds / 1'000'000'000);
  proto->set_nanos(static_cast<int32_t>(nanoseconds % 1'000'000'000));
}

EventLoop::Clock::duration ToDuration(const google::protobuf::Duration& duration) {
  return std::chrono::seconds(duration.seconds()) + std::chrono::nanoseconds(duration.nanos());
}

EventLoop::Clock::duration Grace(const v1::Assignment& assignment) {
  return assignment.has_grace_period() ? ToDuration(assignment.grace_period()) : kDefaultGrace;
}

// Folders and files that cannot be made are the machine's fault.
absl::Status OfMachine(const absl::Status& status) { return absl::ResourceExhaustedError(MessageOf(status)); }

}  // namespace

TrainerRun::TrainerRun(EventLoop* loop, const TrainerPlace& place, const v1::Assignment& assignment,
                       const TrainerSeat& seat, Events events)
    : loop_(loop),
      place_(place),
      assignment_(assignment),
      seat_(seat),
      events_(std::move(events)),
      grace_(Grace(assignment)),
      start_time_(absl::Now()),
      begun_(loop->Now()),
      lines_(kMaxLineBytes) {
  if (assignment.has_repeat()) repeat_.emplace(assignment.repeat(), assignment.objective_metric());
}

absl::Time TrainerRun::Now() const { return start_time_ + absl::FromChrono(loop_->Now() - begun_); }

TrainerRun::~TrainerRun() {
  loop_->Cancel(exit_timer_);
  loop_->Cancel(end_timer_);
  loop_->Cancel(limit_timer_);
  loop_->Cancel(report_timer_);
  loop_->Cancel(suspend_timer_);
  EndUsage();
}

absl::StatusOr<std::unique_ptr<TrainerRun>> TrainerRun::Start(EventLoop* loop, const TrainerPlace& place,
                                                              const v1::Assignment& assignment,
                                                              const TrainerSeat& seat, Events events,
                                                              std::shared_ptr<const UserLease> user,
                                                              TrainerWarmth warmth) {
  auto secrets = ReadSecrets(place.secrets, place.worker, assignment);
  if (!secrets.ok()) return secrets.status();
  std::unique_ptr<TrainerRun> run(new TrainerRun(loop, place, assignment, seat, std::move(events)));
  run->secrets_ = *std::move(secrets);
  run->keep_ = std::move(warmth.keep);
  run->parents_ = warmth.parents;
  run->needed_ = std::move(warmth.needed);
  std::vector<std::string> hidden;
  for (const auto& [variable, value] : run->secrets_) hidden.push_back(value);
  if (!hidden.empty()) run->redactors_.assign(2, Redactor(hidden));
  if (absl::Status status = run->MakeParser(); !status.ok()) return status;
  const auto directories = NameTrialDirectories(place.shared, assignment.job_id(), assignment.trial());
  if (!directories.ok()) return OfMachine(directories.status());
  std::error_code unread;
  const bool is_empty = std::filesystem::is_empty(directories->checkpoint, unread);
  run->had_checkpoint_ = unread ? unread != std::errc::no_such_file_or_directory : !is_empty;
  // Before a program that is there goes on: what it writes from then on is of this part.
  if (run->parser_.has_value() && assignment.rank() == 0 && !assignment.metrics_file().empty()) {
    const FolderName output{place.shared, directories->output.lexically_relative(place.shared)};
    run->follower_ = std::make_unique<MetricsFollower>(
        loop, output, assignment.metrics_file(),
        [self = run.get()](const MetricRecord& record) { self->Take(self->parser_->Add(record)); });
  }
  if (warmth.waiting != nullptr) {
    if (user == nullptr) user = warmth.waiting->user();
    warmth.waiting->Listen(run.get());
    const bool goes_on = warmth.waiting->HasSecrets(run->secrets_) &&
                         (warmth.waiting->suspended() ? run->TakeOver(*warmth.waiting)
                                                      : warmth.waiting->Continue(assignment, seat));
    if (goes_on) {
      run->trainer_ = std::move(warmth.waiting);
      run->part_start_ = v1::CONTINUED;
    }
    warmth.waiting = nullptr;
  }
  if (run->trainer_ == nullptr && warmth.held != nullptr) {
    run->trainer_ = warmth.held->Begin(assignment, seat, run->secrets_, run.get(), &run->early_);
    run->was_held_ = run->trainer_ != nullptr;
    if (run->was_held_) run->part_start_ = v1::FORKED;
    warmth.held = nullptr;
  }
  // A program that is there trains meanwhile.
  if (absl::Status logs = run->MakeLogs(); !logs.ok()) return OfMachine(logs);
  if (absl::Status kept = run->KeepReports(); !kept.ok()) return OfMachine(kept);
  if (GoesOnSuspended(assignment) && run->trainer_ == nullptr)
    return absl::AbortedError("the suspended program with which the trial was to go on has ended");
  if (run->trainer_ == nullptr) {
    if (absl::Status status = run->StartProgram(std::move(user)); !status.ok()) return status;
  }
  run->MeasureUsage();
  run->WatchTime();
  return run;
}

absl::Status TrainerRun::StartProgram(std::shared_ptr<const UserLease> user) {
  was_held_ = false;
  early_.clear();
  v1::Assignment told = assignment_;
  if (Suspends()) {
    // It does not end at the level of a part, and is not asked to.
    told.clear_resource_from();
    told.clear_resource_to();
  }
  if (assignment_.has_container()) host_kills_before_ = HostOomKills();
  auto trainer = TrainerProcess::Start(loop_, place_, told, seat_, secrets_, std::move(user),
                                       keep_ != nullptr && assignment_.resumes(), parents_, this);
  if (!trainer.ok()) return trainer.status();
  trainer_ = *std::move(trainer);
  part_start_ = trainer_->is_forked() ? v1::FORKED : v1::NEW_PROCESS;
  return absl::OkStatus();
}

void TrainerRun::MeasureUsage() {
  loop_->Cancel(std::exchange(usage_timer_, 0));
  if (place_.usage == nullptr || trainer_ == nullptr) return;
  if (const std::optional<pid_t> program = trainer_->program()) {
    place_.usage->Add(assignment_.id(), *program, trainer_->mark(), trainer_->group());
  } else {
    usage_timer_ = loop_->After(kProgramPause, [this] {
      usage_timer_ = 0;
      MeasureUsage();
    });
  }
}

// A program that is handed over may end, with its control group, before this run does.
void TrainerRun::EndUsage() {
  loop_->Cancel(std::exchange(usage_timer_, 0));
  if (place_.usage != nullptr) place_.usage->Remove(assignment_.id());
}

void TrainerRun::WatchTime() {
  if (!assignment_.has_max_attempt_time()) return;
  limit_timer_ = loop_->After(ToDuration(assignment_.max_attempt_time()), [this] {
    limit_timer_ = 0;
    StopFor(StopReason::kTimeLimit, grace_);
  });
}

absl::Status TrainerRun::MakeParser() {
  if (assignment_.metrics().empty()) return absl::OkStatus();
  auto parser = MetricParser::Create(RulesOf(assignment_));
  if (!parser.ok()) return parser.status();
  parser_.emplace(*std::move(parser));
  return absl::OkStatus();
}

absl::Status TrainerRun::MakeLogs() {
  const auto prefix = MakeLogPrefix(place_.work, assignment_.job_id(), assignment_.trial(),
                                    assignment_.attempt(), assignment_.rank());
  if (!prefix.ok()) return prefix.status();
  const auto ship = [this](v1::GetLogsRequest::Stream stream) -> LogKeeper::Ship {
    return [this, stream](int64_t offset, std::string_view data, bool truncated) {
      events_.log(stream, offset, data, truncated);
    };
  };
  auto output =
      LogKeeper::Create(prefix->string() + ".stdout.log", kMaxShippedBytes, ship(v1::GetLogsRequest::STDOUT));
  if (!output.ok()) return output.status();
  stdout_.emplace(*std::move(output));
  stderr_.emplace(LogKeeper::CreateLater(prefix->string() + ".stderr.log", kMaxShippedBytes,
                                         ship(v1::GetLogsRequest::STDERR)));
  return absl::OkStatus();
}

// Keeps reports from now on. Those that an earlier attempt has kept, and may not have sent, are sent first.
absl::Status TrainerRun::KeepReports() {
  if (assignment_.rank() != 0 || !assignment_.resumes() || repeat_.has_value()) return absl::OkStatus();
  const auto trial = NameTrialFolder(place_.shared, assignment_.job_id(), assignment_.trial());
  if (!trial.ok()) return trial.status();
  kept_.emplace(*trial);
  if (assignment_.attempt() <= 1 || !had_checkpoint_ || part_start_ == v1::CONTINUED) return absl::OkStatus();
  for (v1::Report& report : kept_->Find(assignment_.resource_from(), assignment_.resource_to())) {
    report.set_assignment_id(assignment_.id());
    SetTime(Now(), report.mutable_time());
    events_.report(std::move(report));
  }
  return absl::OkStatus();
}

void TrainerRun::Output(Process::Stream stream, std::string_view bytes) {
  PassEarly();
  Read(stream, bytes);
}

void TrainerRun::PassEarly() {
  for (const auto& [stream, bytes] : std::exchange(early_, {})) Read(stream, bytes);
}

void TrainerRun::Read(Process::Stream stream, std::string_view bytes) {
  wrote_ = true;
  if (redactors_.empty()) return Keep(stream, bytes);
  if (const std::string rest = redactors_[stream].Add(bytes); !rest.empty()) Keep(stream, rest);
}

void TrainerRun::Keep(Process::Stream stream, std::string_view bytes) {
  (stream == Process::kStdout ? stdout_ : stderr_)->Add(bytes);
  if (stream == Process::kStdout && parser_.has_value()) {
    lines_.Add(bytes, [this](std::string_view line) { Line(line); });
  }
  if (std::exchange(to_look_, false)) LookForOtherRanks();
}

// The ranks of one world are connected. Where only rank 0 reports, the other ranks may do anything and are
// not checked. A program near its end may have left its world; so only a line written after the check counts.
void TrainerRun::LineOfOtherRank(std::string_view line) {
  if (looked_enough_ || !parser_->Parse(line).has_value()) return;
  to_look_ = true;
  if (!std::exchange(is_lone_, false)) return;
  if (++lone_lines_ < kLoneLines) return;
  looked_enough_ = true;
  NoticeOfWorlds();
}

void TrainerRun::LookForOtherRanks() {
  const auto begin = EventLoop::Clock::now();
  if (looked_enough_ || begin < next_look_) return;
  const std::optional<pid_t> program = trainer_->program();
  if (!program.has_value()) return;
  Process& process = trainer_->process();
  ProcessTree tree(*program, trainer_->mark());
  const std::optional<bool> connected = AreConnected(tree.Find(AllProcesses()));
  looked_enough_ = connected == true;
  is_lone_ = connected == false && !process.HasUnread(Process::kStdout);
  const auto end = EventLoop::Clock::now();
  if (++looks_ >= kPromptLooks) next_look_ = end + kLookPause * (end - begin);
}

void TrainerRun::Line(std::string_view line) {
  cut_line_ = cut_line_ || line.size() >= kMaxLineBytes;
  if (assignment_.rank() != 0) {
    LineOfOtherRank(line);
    return;
  }
  if (line.find_first_not_of(" \t") != std::string_view::npos) {
    ++line_count_;
    last_line_ = line.substr(0, kShownLineBytes);
  }
  Take(parser_->Parse(line));
}

// What a line or a record of the metrics file added.
void TrainerRun::Take(const std::optional<MetricReading>& reading) {
  NoticeIf(v1::JobNotice::LEVEL_BELOW_ONE, LevelBelowOne);
  NoticeIf(v1::JobNotice::REPORTED_TWICE, ReportedTwice);
  NoticeIf(v1::JobNotice::NUMBER_CUT, NumberCut);
  NoticeIf(v1::JobNotice::TWO_IN_A_LINE, TwoNumbersInALine);
  if (!reading.has_value()) return;
  NoticeOfReading(*reading);
  const int64_t last = assignment_.resource_to();
  if (last > 0 && reading->resource > last) {
    // Where it is to end instead, it may print without end.
    if (Suspends() && (!reached_ || trainer_->process().suspended())) beyond_.push_back(*reading);
    Reached();
    return;
  }
  if (repeat_.has_value()) {
    repeat_->Add(*reading);
    told_objective_ = repeat_->complete();
    return;
  }
  v1::Report report;
  report.set_resource(reading->resource);
  bool has_objective = false;
  for (const auto& [name, value] : reading->metrics) {
    v1::MetricValue* metric = report.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
    has_objective = has_objective || name == assignment_.objective_metric();
  }
  const bool reaches = has_objective && reading->resource == last;
  ReportSome(std::move(report), reaches);
  told_objective_ = told_objective_ || has_objective;
  if (reaches) Reached();
}

void TrainerRun::ReportSome(v1::Report report, bool needed) {
  if (++levels_ <= kMostLevels) return Report(std::move(report));
  if (levels_ == kMostLevels + 1) {
    spdlog::warn("{} has reported {} levels: from now on one a second is recorded, and the last",
                 assignment_.id(), kMostLevels);
  }
  if (left_out_.has_value() && left_out_->resource() == report.resource()) {
    left_out_->mutable_metrics()->MergeFrom(report.metrics());
  } else {
    left_out_ = std::move(report);
  }
  const auto now = EventLoop::Clock::now();
  if (!needed && now < next_some_) return;
  next_some_ = now + kSomePause;
  Report(*std::exchange(left_out_, std::nullopt));
}

void TrainerRun::Report(v1::Report report) {
  if (kept_.has_value()) kept_->Add(report);
  report.set_assignment_id(assignment_.id());
  SetTime(Now(), report.mutable_time());
  if (keep_ == nullptr || assignment_.resource_to() <= 0 || report.resource() != assignment_.resource_to() ||
      last_report_.has_value()) {
    SendLastReport();
    events_.report(std::move(report));
    return;
  }
  // Its program says next that it waits: then one Sync tells both, and its answer has what comes next.
  last_report_ = std::move(report);
  report_timer_ = loop_->After(kReportPatience, [this] {
    report_timer_ = 0;
    SendLastReport();
  });
}

void TrainerRun::SendLastReport() {
  loop_->Cancel(std::exchange(report_timer_, 0));
  if (last_report_.has_value()) events_.report(*std::exchange(last_report_, std::nullopt));
}

void TrainerRun::Reached() {
  if (std::exchange(reached_, true)) return;
  if (Suspends()) {
    Suspend();
  } else if (!assignment_.resumes()) {
    StopFor(StopReason::kBudget, grace_);
  } else {
    // The trainer must save its checkpoint and exit by itself now.
    exit_timer_ = loop_->After(grace_, [this] {
      exit_timer_ = 0;
      StopFor(StopReason::kBudget, grace_);
    });
  }
}

void TrainerRun::Notice(v1::JobNotice::Kind kind, const std::string& text) {
  if (noticed_.insert(kind).second && events_.notice) events_.notice(kind, text);
}

void TrainerRun::NoticeIf(v1::JobNotice::Kind kind, std::string (*problem)(const SeenOutput&)) {
  if (noticed_.contains(kind)) return;
  if (const std::string text = problem(Seen()); !text.empty()) Notice(kind, text);
}

void TrainerRun::NoticeOfReading(const MetricReading& reading) {
  const int64_t from = assignment_.resource_from();
  const int64_t to = assignment_.resource_to();
  if (!std::exchange(told_level_, true) && assignment_.resumes() && from > 0) {
    // A resumed trainer may print its starting level again, or one before it; counted lines prove nothing.
    const bool counted = parser_->counts();
    const bool anew =
        had_checkpoint_ ? !counted && reading.resource == 1 && from > 1 : counted || reading.resource <= from;
    if (anew) {
      Notice(
          v1::JobNotice::PART_BEGAN_ANEW,
          fmt::format(
              "Trial {} should resume from level {}, but {}. It trains everything again in each part. Save "
              "a checkpoint in WINNOW_CHECKPOINT_DIR and resume from it, or set trainer.resumes to false.",
              assignment_.trial(), from,
              had_checkpoint_ ? "began at level 1 as if it had no checkpoint"
                              : "found no checkpoint: its earlier parts left none in WINNOW_CHECKPOINT_DIR"));
    }
  }
  // A trainer that cannot resume is stopped at its level, and may have printed more by then.
  const bool told = noticed_.contains(v1::JobNotice::BEYOND_BUDGET);
  if (assignment_.resumes() && to > 0 && reading.resource > to && !told) {
    Notice(
        v1::JobNotice::BEYOND_BUDGET,
        fmt::format("Trial {} reported level {}, but should train to level {}: it trains past its budget, "
                    "and its values there are not recorded. Train to WINNOW_RESOURCE_TO, save a checkpoint "
                    "and exit; or set trainer.resumes to false, and Winnow stops it there.",
                    assignment_.trial(), reading.resource, to));
  }
}

void TrainerRun::NoticeOfWorlds() {
  Notice(v1::JobNotice::SEPARATE_WORLDS,
         fmt::format("Rank {} of {} of trial {} reports {} without a connection to another rank: each rank "
                     "seems to train its own model. Connect the ranks with RANK, WORLD_SIZE, MASTER_ADDR and "
                     "MASTER_PORT; for an MPI program, let only rank 0 start it, with mpirun.",
                     assignment_.rank(), assignment_.world_size(), assignment_.trial(),
                     assignment_.objective_metric()));
}

void TrainerRun::NoticeOfEnd(const v1::Outcome& outcome) {
  const bool by_itself = outcome.kind() == v1::Outcome::FINISHED && stop_reason_ == StopReason::kNone;
  if (!parser_.has_value() || !by_itself) return;
  // a resumed trainer may have had nothing left to do
  if (assignment_.rank() != 0 || !BeganFromNothing()) return;
  NoticeIf(v1::JobNotice::UNMATCHED_METRIC, UnmatchedMetrics);
}

SeenOutput TrainerRun::Seen() const {
  return {assignment_, *parser_,   follower_.get(),
          line_count_, last_line_, stderr_ ? stderr_->Tail() : std::string_view(),
          cut_line_};
}

std::string TrainerRun::WithoutObjective() const {
  if (!parser_.has_value() || assignment_.rank() != 0 || told_objective_ || !BeganFromNothing()) return "";
  return NoObjective(Seen());
}

// If it has ended already, Gone comes, and decides as for any other program.
void TrainerRun::Suspend() {
  Process& process = trainer_->process();
  if (stop_reason_ != StopReason::kNone || process.HasEnded()) return;
  stop_reason_ = StopReason::kBudget;
  process.Suspend();
  loop_->Cancel(suspend_timer_);
  suspend_timer_ = loop_->After(std::chrono::seconds(0), [this] {
    suspend_timer_ = 0;
    HandOverSuspended();
  });
}

void TrainerRun::HandOverSuspended() {
  if (trainer_->process().HasEnded()) return;
  SendLastReport();
  EndLogs();
  const v1::Outcome outcome = Judge({{}, Now()});
  trainer_->Suspended({std::move(redactors_), std::move(lines_), *std::move(parser_), std::move(beyond_)});
  EndUsage();
  keep_(std::move(trainer_));
  const auto ended = events_.ended;
  ended(outcome);
}

bool TrainerRun::TakeOver(TrainerProcess& waiting) {
  if (waiting.process().HasEnded()) return false;
  ReadAhead read = waiting.TakeReadAhead();
  redactors_ = std::move(read.redactors);
  lines_ = std::move(read.lines);
  parser_ = std::move(read.parser);
  // Not from within Start: what it has printed beyond the last part is reported before anything else.
  suspend_timer_ = loop_->After(std::chrono::seconds(0), [this, beyond = std::move(read.beyond)] {
    suspend_timer_ = 0;
    for (const MetricReading& reading : beyond) Take(reading);
    if (!reached_) trainer_->process().Resume();
  });
  return true;
}

void TrainerRun::StopFor(StopReason reason, EventLoop::Clock::duration grace) {
  if (trainer_ == nullptr) return;  // the part has ended: its program waits
  loop_->Cancel(std::exchange(suspend_timer_, 0));
  Process& process = trainer_->process();
  const bool ended = process.HasEnded();
  if (stop_reason_ == StopReason::kNone && !ended) stop_reason_ = reason;
  leaves_ = leaves_ || (ended && reason == StopReason::kLeaving);
  if (!doubtful_end_.has_value()) return process.Stop(grace);
  // Not from within the call, because the end of the run destroys it.
  loop_->Cancel(end_timer_);
  end_timer_ = loop_->After(std::chrono::seconds(0), [this] { Finish(*doubtful_end_); });
}

void TrainerRun::Stop(Why why) {
  StopFor(why == Why::kLeaving ? StopReason::kLeaving : StopReason::kUnwanted, grace_);
}

void TrainerRun::Kill(Why why) {
  StopFor(why == Why::kLeaving ? StopReason::kLeaving : StopReason::kUnwanted, std::chrono::seconds(0));
}

void TrainerRun::OverMemory() { StopFor(StopReason::kMemory, std::chrono::seconds(0)); }

// What it is not expected to say, it may not have said: it is told to end, and its exit code decides as ever.
// One that waits while it is being stopped may have missed the signal, and would wait until it is killed.
void TrainerRun::Waits(int64_t level) {
  if (trainer_ == nullptr) return;
  if (stop_reason_ != StopReason::kNone || keep_ == nullptr || level != assignment_.resource_to()) {
    trainer_->End(grace_);
    return;
  }
  EndOutput();
  const v1::Outcome outcome = Judge({{}, Now()});
  NoticeOfEnd(outcome);
  EndUsage();
  keep_(std::move(trainer_));
  const auto ended = events_.ended;
  ended(outcome);
}

// Where what a rank takes of its worker is more than a slot, the program keeps it while it saves. Nothing
// that it does before it has told its level is free.
void TrainerRun::Saves(int64_t level) {
  const bool is_plain = assignment_.world_size() <= 1 && assignment_.gpus().empty() &&
                        assignment_.memory_gib() == 0 && assignment_.cpus() == 0 && assignment_.resumes();
  if (!is_plain || !reached_ || level != assignment_.resource_to() || stop_reason_ != StopReason::kNone ||
      saved_from_.has_value() || !events_.saves)
    return;
  saved_from_ = Now();
  events_.saves();
}

void TrainerRun::CanFork() {
  if (parents_ != nullptr) parents_->Offer(assignment_, secrets_, needed_);
}

absl::Status TrainerRun::StartAnew() {
  EndUsage();
  std::shared_ptr<const UserLease> user = trainer_->user();
  trainer_ = nullptr;
  absl::Status status = StartProgram(std::move(user));
  if (status.ok()) MeasureUsage();
  return status;
}

void TrainerRun::EndLogs() {
  for (std::optional<LogKeeper>* log : {&stdout_, &stderr_}) (*log)->End();
}

void TrainerRun::EndOutput() {
  PassEarly();
  for (const Process::Stream stream : {Process::kStdout, Process::kStderr}) {
    const std::string rest = redactors_.empty() ? "" : redactors_[stream].End();
    if (!rest.empty()) Keep(stream, rest);
  }
  if (parser_.has_value()) lines_.End([this](std::string_view line) { Line(line); });
  if (follower_ != nullptr) follower_->End();
  if (follower_ != nullptr && follower_->has_left_out()) {
    spdlog::warn("{}: {} was written faster than it is read, and some of it was left out", assignment_.id(),
                 assignment_.metrics_file());
  }
  EndLogs();
  if (left_out_.has_value()) Report(*std::exchange(left_out_, std::nullopt));
  SendLastReport();
}

void TrainerRun::Gone(const ProcessEnd& end) {
  if (DiedWaiting()) {
    const absl::Status status = StartAnew();
    if (status.ok()) return;
    const auto failed = events_.ended;
    failed(absl::IsResourceExhausted(status) ? NotStartedOutcome(status) : FailedOutcome(MessageOf(status)));
    return;
  }
  EndOutput();
  if (!MayBeOfEngine(end)) return Finish({end, Now()});
  doubtful_end_ = {end, Now()};
  end_timer_ = loop_->After(leaves_ ? std::chrono::milliseconds(0) : place_.signal_patience,
                            [this] { Finish(*doubtful_end_); });
  if (events_.saves && !saved_from_.has_value()) events_.saves();
}

// By the signal on any worker; by exit code 0, as the contract asks for, only where it is known that the
// worker leaves, or where its engine may be about to say so: elsewhere a trainer that ends early is not
// waited for.
bool TrainerRun::MayBeOfEngine(const ProcessEnd& end) const {
  if (stop_reason_ != StopReason::kNone) return false;
  if (end.exit_code == 128 + SIGTERM) return true;
  const bool tells_level = assignment_.rank() == 0 && assignment_.resource_to() > 0 && !repeat_.has_value();
  return end.exit_code == 0 && tells_level && !reached_ && (leaves_ || place_.is_of_pool);
}

void TrainerRun::Finish(const TimedEnd& end) {
  end_timer_ = 0;
  if (doubtful_end_.has_value() && leaves_) stop_reason_ = StopReason::kLeaving;
  const v1::Outcome outcome = Judge(end);
  if (outcome.kind() == v1::Outcome::FINISHED && repeat_.has_value() && repeat_->complete())
    Report(repeat_->Report());
  NoticeOfEnd(outcome);
  const auto ended = events_.ended;
  ended(outcome);
}

std::string TrainerRun::OutOfMemory(const ProcessEnd& end, const std::string& words) const {
  const bool killed = stop_reason_ == StopReason::kNone && end.exit_code == 128 + SIGKILL;
  if (trainer_ != nullptr && trainer_->is_apart()) {
    if (!killed || HostOomKills() == host_kills_before_) return "";
    return assignment_.memory_gib() > 0
               ? fmt::format("out of memory: killed at its limit of {:g} GiB", assignment_.memory_gib())
               : "out of memory: the kernel killed it because the host ran out of memory";
  }
  const Confinement* const confinement = trainer_ == nullptr ? nullptr : trainer_->confinement();
  if (confinement == nullptr) return "";
  return confinement->OutOfMemory(end.exit_code != 0, killed, words);
}

v1::Outcome TrainerRun::Judge(const TimedEnd& timed) const {
  const ProcessEnd& end = timed.end;
  v1::Outcome outcome;
  outcome.set_exit_code(end.exit_code);
  outcome.set_part_start(part_start_);
  SetTime(start_time_, outcome.mutable_start_time());
  // While it saved, another part may have had its slot.
  SetTime(end.exit_code == 0 ? saved_from_.value_or(timed.at) : timed.at, outcome.mutable_end_time());
  const bool budget =
      stop_reason_ == StopReason::kBudget || (stop_reason_ == StopReason::kLeaving && reached_);
  std::string cause = FindCause(stderr_->Tail());
  if (budget || (stop_reason_ == StopReason::kNone && end.exit_code == 0)) {
    outcome.set_kind(v1::Outcome::FINISHED);
    outcome.set_reason(WithoutObjective());
  } else if (stop_reason_ == StopReason::kUnwanted) {
    outcome.set_kind(v1::Outcome::STOPPED);
  } else if (stop_reason_ == StopReason::kLeaving) {
    outcome.set_kind(v1::Outcome::HANDED_BACK);
  } else if (stop_reason_ == StopReason::kTimeLimit) {
    outcome.set_kind(v1::Outcome::FAILED);
    outcome.set_cause(v1::Outcome::TIME_LIMIT);
    outcome.set_reason(
        fmt::format("the attempt took longer than limits.max_attempt_time, {} s",
                    absl::ToDoubleSeconds(absl::FromChrono(ToDuration(assignment_.max_attempt_time())))));
  } else if (const std::string memory = OutOfMemory(end, stderr_->LastLines()); !memory.empty()) {
    outcome.set_kind(v1::Outcome::FAILED);
    outcome.set_cause(v1::Outcome::OUT_OF_MEMORY);
    outcome.set_reason(memory + (cause.empty() ? "" : ": " + cause));
  } else {
    outcome.set_kind(v1::Outcome::FAILED);
    if (cause.empty() && end.signal == 0 && !told_objective_) cause = FindCause(stdout_->Tail());
    const bool full = DiskIsFull(cause, {place_.shared, place_.work});
    if (full) outcome.set_cause(v1::Outcome::NOT_STARTED);
    outcome.set_reason((full ? "the disk is full: " : "") + FailureReason(end, cause));
  }
  return outcome;
}

}  // namespace winnow
