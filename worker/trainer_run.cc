#include "worker/trainer_run.h"

#include <signal.h>
#include <string.h>

#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/leftover_processes.h"
#include "worker/outcomes.h"
#include "worker/secrets.h"
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

EventLoop::Clock::duration ToDuration(const google::protobuf::Duration& duration) {
  return std::chrono::seconds(duration.seconds()) + std::chrono::nanoseconds(duration.nanos());
}

EventLoop::Clock::duration Grace(const v1::Assignment& assignment) {
  return assignment.has_grace_period() ? ToDuration(assignment.grace_period()) : kDefaultGrace;
}

// Folders and files that cannot be made are the machine's fault.
absl::Status OfMachine(const absl::Status& status) {
  return absl::ResourceExhaustedError(std::string(status.message()));
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

TrainerRun::TrainerRun(EventLoop* loop, HostUsage* usage, const v1::Assignment& assignment, Events events)
    : loop_(loop),
      usage_(usage),
      assignment_(assignment),
      events_(std::move(events)),
      grace_(Grace(assignment)),
      start_time_(absl::Now()),
      lines_(kMaxLineBytes) {}

TrainerRun::~TrainerRun() {
  loop_->Cancel(exit_timer_);
  loop_->Cancel(limit_timer_);
  if (usage_ != nullptr) usage_->Remove(assignment_.id());
}

absl::StatusOr<std::unique_ptr<TrainerRun>> TrainerRun::Start(EventLoop* loop, const TrainerPlace& place,
                                                              const v1::Assignment& assignment, int free_port,
                                                              Events events) {
  auto secrets = ReadSecrets(place.secrets, place.worker, assignment);
  if (!secrets.ok()) return secrets.status();
  std::unique_ptr<TrainerRun> run(new TrainerRun(loop, place.usage, assignment, std::move(events)));
  std::vector<std::string> hidden;
  for (const auto& [variable, value] : *secrets) hidden.push_back(value);
  if (!hidden.empty()) run->redactors_.assign(2, Redactor(hidden));
  TrainerRun* const self = run.get();
  if (absl::Status status = run->Prepare(place); !status.ok()) return status;
  const auto directories = MakeTrialDirectories(place.shared, assignment.job_id(), assignment.trial(), false);
  if (!directories.ok()) return OfMachine(directories.status());

  ProcessSpec spec;
  spec.command.assign(assignment.command().begin(), assignment.command().end());
  spec.environment = TrainerEnvironment(assignment, *directories,
                                        {place.host, LocalRank(assignment), free_port, place.work.string(),
                                         *std::move(secrets)},
                                        place.environment);
  spec.mark = AssignmentMark(assignment.id());
  if (place.limiter != nullptr) {
    auto confinement =
        place.limiter->Confine(assignment.id(), spec.mark, {assignment.cpus(), assignment.memory_gib()});
    if (!confinement.ok()) return confinement.status();
    run->confinement_ = *std::move(confinement);
    spec.setup = run->confinement_->Child();
  }
  spec.working_directory = assignment.working_directory();
  spec.program_directory = place.program_directory;
  auto process =
      Process::Start(loop, spec,
                     {[self](Process::Stream stream, std::string_view bytes) { self->Output(stream, bytes); },
                      [self](const ProcessEnd& end) { self->Gone(end); }});
  if (!process.ok()) {
    Redactor redactor(hidden);
    const std::string why = redactor.Add(std::string(process.status().message()));
    return absl::Status(process.status().code(), why + redactor.End());
  }
  run->process_ = *std::move(process);
  if (place.usage != nullptr) {
    place.usage->Add(assignment.id(), run->process_->pid(), spec.mark, spec.setup.group.get());
  }
  run->WatchLimits();
  return run;
}

void TrainerRun::WatchLimits() {
  if (confinement_ != nullptr) {
    confinement_->Watch(process_->pid(), [this] { StopFor(StopReason::kMemory, std::chrono::seconds(0)); });
  }
  if (!assignment_.has_max_attempt_time()) return;
  limit_timer_ = loop_->After(ToDuration(assignment_.max_attempt_time()), [this] {
    limit_timer_ = 0;
    StopFor(StopReason::kTimeLimit, grace_);
  });
}

absl::Status TrainerRun::Prepare(const TrainerPlace& place) {
  if (assignment_.rank() == 0 && !assignment_.metrics().empty()) {
    auto parser = MetricParser::Create(Rules(assignment_));
    if (!parser.ok()) return parser.status();
    parser_.emplace(*std::move(parser));
  }
  const absl::Status logs = MakeLogs(place);
  return logs.ok() ? logs : OfMachine(logs);
}

absl::Status TrainerRun::MakeLogs(const TrainerPlace& place) {
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
  if (redactors_.empty()) return Keep(stream, bytes);
  if (const std::string rest = redactors_[stream].Add(bytes); !rest.empty()) Keep(stream, rest);
}

void TrainerRun::Keep(Process::Stream stream, std::string_view bytes) {
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
  for (const Process::Stream stream : {Process::kStdout, Process::kStderr}) {
    const std::string rest = redactors_.empty() ? "" : redactors_[stream].End();
    if (!rest.empty()) Keep(stream, rest);
  }
  if (parser_.has_value()) lines_.End([this](std::string_view line) { Line(line); });
  const auto ended = events_.ended;
  ended(Judge(end));
}

std::string TrainerRun::OutOfMemory(const ProcessEnd& end, const std::string& words) const {
  if (confinement_ == nullptr) return "";
  const bool killed = stop_reason_ == StopReason::kNone && end.exit_code == 128 + SIGKILL;
  return confinement_->OutOfMemory(end.exit_code != 0, killed, words);
}

v1::Outcome TrainerRun::Judge(const ProcessEnd& end) const {
  v1::Outcome outcome;
  outcome.set_exit_code(end.exit_code);
  SetTime(start_time_, outcome.mutable_start_time());
  SetTime(absl::Now(), outcome.mutable_end_time());
  const bool budget =
      stop_reason_ == StopReason::kBudget || (stop_reason_ == StopReason::kLeaving && reached_);
  const std::string words = stderr_->LastLines();
  if (budget || (stop_reason_ == StopReason::kNone && end.exit_code == 0)) {
    outcome.set_kind(v1::Outcome::FINISHED);
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
  } else if (const std::string memory = OutOfMemory(end, words); !memory.empty()) {
    outcome.set_kind(v1::Outcome::FAILED);
    outcome.set_cause(v1::Outcome::OUT_OF_MEMORY);
    outcome.set_reason(memory + (words.empty() ? "" : ": " + words));
  } else {
    outcome.set_kind(v1::Outcome::FAILED);
    outcome.set_reason(Describe(end) + (words.empty() ? "" : ": " + words));
  }
  return outcome;
}

}  // namespace winnow
