#include "worker/trainer_run.h"

#include <signal.h>
#include <string.h>

#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/leftover_processes.h"
#include "worker/trainer_environment.h"
#include "worker/trial_directories.h"

namespace winnow {
namespace {

constexpr size_t kMaxLineBytes = 64 << 10;
constexpr int64_t kMaxShippedBytes = 1 << 20;  // of one stream
constexpr std::chrono::seconds kDefaultGrace(10);

void SetTime(absl::Time time, google::protobuf::Timestamp* proto) {
  const int64_t nanoseconds = absl::ToUnixNanos(time);
  proto->set_seconds(nanoseconds / 1'000'000'000);
  proto->set_nanos(static_cast<int32_t>(nanoseconds % 1'000'000'000));
}

EventLoop::Clock::duration Grace(const v1::Assignment& assignment) {
  if (!assignment.has_grace_period()) return kDefaultGrace;
  return std::chrono::seconds(assignment.grace_period().seconds()) +
         std::chrono::nanoseconds(assignment.grace_period().nanos());
}

MetricRules Rules(const v1::Assignment& assignment) {
  MetricRules rules;
  for (const v1::MetricDefinition& metric : assignment.metrics()) {
    rules.metrics.push_back({metric.name(), metric.regex()});
  }
  rules.objective = assignment.objective_metric();
  rules.resource_regex = assignment.resource_regex();
  rules.resource_offset = assignment.resource_offset();
  rules.counted_from = assignment.resumes() ? assignment.resource_from() : 0;
  return rules;
}

std::string Describe(const ProcessEnd& end) {
  if (end.signal == 0) return fmt::format("exit code {}", end.exit_code);
  const char* name = sigabbrev_np(end.signal);
  return name == nullptr ? fmt::format("killed by signal {}", end.signal)
                         : fmt::format("killed by signal {} (SIG{})", end.signal, name);
}

}  // namespace

v1::Outcome FailedOutcome(std::string reason) {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_exit_code(127);
  outcome.set_reason(std::move(reason));
  SetTime(absl::Now(), outcome.mutable_start_time());
  *outcome.mutable_end_time() = outcome.start_time();
  return outcome;
}

TrainerRun::TrainerRun(EventLoop* loop, const v1::Assignment& assignment, Events events)
    : loop_(loop),
      assignment_(assignment),
      events_(std::move(events)),
      grace_(Grace(assignment)),
      start_time_(absl::Now()),
      lines_(kMaxLineBytes) {}

TrainerRun::~TrainerRun() { loop_->Cancel(exit_timer_); }

absl::StatusOr<std::unique_ptr<TrainerRun>> TrainerRun::Start(EventLoop* loop, const TrainerPlace& place,
                                                              const v1::Assignment& assignment, int free_port,
                                                              Events events) {
  std::unique_ptr<TrainerRun> run(new TrainerRun(loop, assignment, std::move(events)));
  TrainerRun* const self = run.get();
  if (absl::Status status = run->Prepare(place); !status.ok()) return status;
  // Ranks of a trial share the folder, and rank 0 empties it for all.
  const auto directories = MakeTrialDirectories(place.shared, assignment.job_id(), assignment.trial(),
                                                !assignment.resumes() && assignment.rank() == 0);
  if (!directories.ok()) return directories.status();

  ProcessSpec spec;
  spec.command.assign(assignment.command().begin(), assignment.command().end());
  spec.environment = TrainerEnvironment(assignment, *directories,
                                        {place.host, LocalRank(assignment), free_port, place.work.string()},
                                        place.environment);
  spec.mark = AssignmentMark(assignment.id());
  spec.working_directory = assignment.working_directory();
  spec.program_directory = place.program_directory;
  auto process =
      Process::Start(loop, spec,
                     {[self](Process::Stream stream, std::string_view bytes) { self->Output(stream, bytes); },
                      [self](const ProcessEnd& end) { self->Gone(end); }});
  if (!process.ok()) return process.status();
  run->process_ = *std::move(process);
  return run;
}

absl::Status TrainerRun::Prepare(const TrainerPlace& place) {
  if (assignment_.rank() == 0 && !assignment_.metrics().empty()) {
    auto parser = MetricParser::Create(Rules(assignment_));
    if (!parser.ok()) return parser.status();
    parser_.emplace(*std::move(parser));
  }
  const auto prefix = MakeLogPrefix(place.work, assignment_.job_id(), assignment_.trial(),
                                    assignment_.attempt(), assignment_.rank());
  if (!prefix.ok()) return prefix.status();
  const auto keep = [this, &prefix](v1::GetLogsRequest::Stream stream, const char* suffix,
                                    std::optional<LogKeeper>* keeper) -> absl::Status {
    auto created = LogKeeper::Create(prefix->string() + suffix, kMaxShippedBytes,
                                     [this, stream](int64_t offset, std::string_view data, bool truncated) {
                                       events_.log(stream, offset, data, truncated);
                                     });
    if (created.ok()) keeper->emplace(*std::move(created));
    return created.status();
  };
  if (absl::Status status = keep(v1::GetLogsRequest::STDOUT, ".stdout.log", &stdout_); !status.ok())
    return status;
  return keep(v1::GetLogsRequest::STDERR, ".stderr.log", &stderr_);
}

void TrainerRun::Output(Process::Stream stream, std::string_view bytes) {
  (stream == Process::kStdout ? stdout_ : stderr_)->Add(bytes);
  if (stream == Process::kStdout && parser_.has_value()) {
    lines_.Add(bytes, [this](std::string_view line) { Line(line); });
  }
}

void TrainerRun::Line(std::string_view line) {
  const std::optional<MetricReading> reading = parser_->Parse(line);
  const int64_t last = assignment_.resource_to();
  if (!reading.has_value() || (last > 0 && reading->resource > last)) return;
  v1::Report report;
  report.set_assignment_id(assignment_.id());
  report.set_resource(reading->resource);
  SetTime(absl::Now(), report.mutable_time());
  bool has_objective = false;
  for (const auto& [name, value] : reading->metrics) {
    v1::MetricValue* metric = report.add_metrics();
    metric->set_name(name);
    metric->set_value(value);
    has_objective = has_objective || name == assignment_.objective_metric();
  }
  events_.report(std::move(report));
  if (reached_ || !has_objective || reading->resource != last) return;
  reached_ = true;
  if (!assignment_.resumes()) {
    StopFor(StopReason::kBudget, grace_);
  } else {
    // It has to save its checkpoint now and to exit by itself.
    exit_timer_ = loop_->After(grace_, [this] {
      exit_timer_ = 0;
      StopFor(StopReason::kBudget, grace_);
    });
  }
}

void TrainerRun::StopFor(StopReason reason, EventLoop::Clock::duration grace) {
  if (stop_reason_ == StopReason::kNone && !process_->HasEnded()) stop_reason_ = reason;
  process_->Stop(grace);
}

void TrainerRun::Stop(Why why) {
  StopFor(why == Why::kLeaving ? StopReason::kLeaving : StopReason::kUnwanted, grace_);
}

void TrainerRun::Kill(Why why) {
  StopFor(why == Why::kLeaving ? StopReason::kLeaving : StopReason::kUnwanted, std::chrono::seconds(0));
}

void TrainerRun::Gone(const ProcessEnd& end) {
  if (parser_.has_value()) lines_.End([this](std::string_view line) { Line(line); });
  const auto ended = events_.ended;
  ended(Judge(end));
}

v1::Outcome TrainerRun::Judge(const ProcessEnd& end) const {
  v1::Outcome outcome;
  outcome.set_exit_code(end.exit_code);
  SetTime(start_time_, outcome.mutable_start_time());
  SetTime(absl::Now(), outcome.mutable_end_time());
  const bool budget =
      stop_reason_ == StopReason::kBudget || (stop_reason_ == StopReason::kLeaving && reached_);
  if (budget || (stop_reason_ == StopReason::kNone && end.exit_code == 0)) {
    outcome.set_kind(v1::Outcome::FINISHED);
  } else if (stop_reason_ == StopReason::kUnwanted) {
    outcome.set_kind(v1::Outcome::STOPPED);
  } else if (stop_reason_ == StopReason::kLeaving) {
    outcome.set_kind(v1::Outcome::HANDED_BACK);
  } else {
    outcome.set_kind(v1::Outcome::FAILED);
    const std::string words = stderr_->LastLines();
    outcome.set_reason(Describe(end) + (words.empty() ? "" : ": " + words));
  }
  return outcome;
}

}  // namespace winnow
