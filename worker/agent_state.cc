#include "worker/agent_state.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/mutant.h"
#include "base/utf8.h"

namespace winnow {
namespace {

constexpr int kMostJobs = 200;  // marks in one Sync: each costs the server a look at its tables

using std::chrono::milliseconds;
using v1::RunningAssignment;

// If the last loss of the registration was longer ago, the worker has been registered normally since.
constexpr std::chrono::minutes kPeace(1);

void SetDuration(milliseconds duration, google::protobuf::Duration* proto) {
  proto->set_seconds(duration.count() / 1000);
  proto->set_nanos(static_cast<int32_t>(duration.count() % 1000) * 1'000'000);
}

milliseconds ToMilliseconds(const google::protobuf::Duration& proto) {
  return milliseconds(proto.seconds() * 1000 + proto.nanos() / 1'000'000);
}

}  // namespace

AgentState::AgentState(WorkerIdentity identity, std::string worker_id, SyncLimits limits)
    : identity_(std::move(identity)), limits_(limits), worker_id_(std::move(worker_id)), hold_(limits.hold) {}

bool AgentState::Runs(const std::string& assignment) const {
  const auto held = held_.find(assignment);
  return held != held_.end() && held->second.state != RunningAssignment::ENDED;
}

bool AgentState::HasEndedHeld() const {
  return std::any_of(held_.begin(), held_.end(),
                     [](const auto& held) { return held.second.state == RunningAssignment::ENDED; });
}

bool AgentState::IsFull() const {
  const auto running = std::count_if(held_.begin(), held_.end(), [](const auto& held) {
    return held.second.state == RunningAssignment::RUNNING;
  });
  return running >= identity_.slots;
}

bool AgentState::Settled() const {
  return held_.empty() && chunks_.empty() && reports_.empty() && !HasUrgentWord();
}

const AgentState::InFlight* AgentState::Say() const {
  for (const auto& [number, call] : in_flight_) {
    if (call.says) return &call;
  }
  return nullptr;
}

bool AgentState::HasUrgentWord() const {
  return version_ != answered_version_ || !notices_.empty() || !problems_.empty() || !jobs_.empty();
}

bool AgentState::HasWord(TimePoint now) const {
  if (HasUrgentWord() || (!reports_.empty() && now >= last_said_ + limits_.report_pause)) return true;
  return !chunks_.empty() && (!oldest_log_.has_value() || now >= *oldest_log_ + limits_.log_delay);
}

std::optional<AgentState::Call> AgentState::Next(TimePoint now) {
  if (now < not_before_ || Say() != nullptr) return std::nullopt;
  if (HasWord(now)) return MakeCall(true, now);
  if (!in_flight_.empty() || now < poll_not_before_) return std::nullopt;
  Call call = MakeCall(false, now);
  poll_times_[call.number] = now;
  return call;
}

std::optional<AgentState::TimePoint> AgentState::NextTime() const {
  if (Say() != nullptr) return std::nullopt;
  std::optional<TimePoint> when;
  if (HasUrgentWord()) {
    when = not_before_;
  } else {
    if (in_flight_.empty()) when = poll_not_before_;
    const auto no_later = [&when](TimePoint time) { when = when.has_value() ? std::min(*when, time) : time; };
    if (!reports_.empty()) no_later(last_said_ + limits_.report_pause);
    if (!chunks_.empty()) no_later(oldest_log_.has_value() ? *oldest_log_ + limits_.log_delay : not_before_);
    if (when.has_value()) when = std::max(*when, not_before_);
  }
  return when;
}

void AgentState::NameJobs(std::vector<std::string> marks) {
  for (std::string& mark : marks) jobs_.push_back(std::move(mark));
}

AgentState::Call AgentState::MakeCall(bool says, TimePoint now) {
  Call call;
  call.number = ++last_number_;
  InFlight& flight = in_flight_[call.number];
  flight.says = says;
  flight.version = version_;
  v1::SyncRequest& request = call.request;
  request.set_worker_id(worker_id_);
  request.set_name(identity_.name);
  request.set_host(identity_.host);
  request.set_loopback_of(identity_.loopback_of);
  request.set_slots(identity_.slots);
  request.set_storage_id(identity_.storage_id);
  request.set_version(identity_.version);
  request.set_rendezvous_port(identity_.rendezvous_port);
  request.set_leaving(leaving_);
  request.set_leaving_reason(leaving_reason_);
  request.mutable_labels()->insert(identity_.labels.begin(), identity_.labels.end());
  request.set_cpus(identity_.cpus);
  request.set_memory_gib(identity_.memory_gib);
  request.set_limits(identity_.limits);
  request.set_ahead(identity_.ahead);
  request.set_encrypts_ranks(true);
  request.mutable_gpus()->Assign(identity_.gpus.begin(), identity_.gpus.end());
  request.set_cost_per_hour(identity_.cost_per_hour);
  if (identity_.end.has_value()) {
    const auto left = std::chrono::duration_cast<milliseconds>(*identity_.end - now);
    SetDuration(std::max(milliseconds(0), left), request.mutable_remaining_life());
  }

  std::map<std::string, int> contained;
  if (says) {
    last_said_ = now;
    size_t report_bytes = 0;
    while (flight.reports < static_cast<int>(reports_.size()) && flight.reports < limits_.max_reports &&
           report_bytes < limits_.max_report_bytes) {
      const v1::Report& report = reports_[flight.reports++];
      report_bytes += report.ByteSizeLong();
      ++contained[report.assignment_id()];
      *request.add_reports() = report;
    }
    size_t log_bytes = 0;
    while (flight.chunks < static_cast<int>(chunks_.size()) && log_bytes < limits_.max_log_bytes) {
      const v1::LogChunk& chunk = chunks_[flight.chunks++];
      log_bytes += chunk.data().size();
      ++contained[chunk.assignment_id()];
      *request.add_logs() = chunk;
    }
    for (const v1::AssignmentNotice& notice : notices_) {
      ++contained[notice.assignment_id()];
      *request.add_notices() = notice;
    }
    flight.notices = static_cast<int>(notices_.size());
    for (const v1::ModelProblem& problem : problems_) *request.add_model_problems() = problem;
    flight.problems = static_cast<int>(problems_.size());
    flight.jobs = std::min(static_cast<int>(jobs_.size()), kMostJobs);
    request.mutable_held_jobs()->Assign(jobs_.begin(), jobs_.begin() + flight.jobs);
    oldest_log_.reset();
    sent_chunks_ = std::max(sent_chunks_, flight.chunks);
  }
  for (const v1::UsageSample& sample : usage_) *request.add_usage() = sample;
  flight.usage = last_usage_;
  for (const v1::WaitingTrainer& trainer : waiting_) *request.add_waiting() = trainer;
  for (const auto& [id, held] : held_) {
    RunningAssignment* running = request.add_running();
    running->set_assignment_id(id);
    flight.named.insert(id);
    if (held.state == RunningAssignment::ENDED && held.unsent > contained[id] &&
        !WINNOW_MUTANT("an outcome overtakes its reports")) {
      // The last reports are yet to come, and the outcome must not precede them.
      running->set_state(RunningAssignment::STOPPING);
      flight.version = answered_version_;
      continue;
    }
    running->set_state(held.state);
    running->set_preparing(held.preparing);
    running->set_took_checkpoint(held.took_checkpoint);
    if (held.state == RunningAssignment::PREPARED) running->set_rendezvous_port(held.rendezvous_port);
    if (held.state == RunningAssignment::ENDED) {
      *running->mutable_outcome() = held.outcome;
      flight.ended.insert(id);
    }
  }
  SetDuration(says ? milliseconds(0) : hold_, request.mutable_hold());
  call.timeout = limits_.say_timeout + (says ? milliseconds(0) : hold_);
  return call;
}

void AgentState::Forget(uint64_t number) {
  in_flight_.erase(number);
  poll_times_.erase(number);
}

void AgentState::Acknowledge(const InFlight& call) {
  const auto sent = [this](const std::string& id) {
    if (const auto held = held_.find(id); held != held_.end()) --held->second.unsent;
  };
  for (int i = 0; i < call.reports; ++i) {
    sent(reports_.front().assignment_id());
    reports_.pop_front();
  }
  for (int i = 0; i < call.chunks; ++i) {
    sent(chunks_.front().assignment_id());
    chunks_.pop_front();
  }
  sent_chunks_ -= call.chunks;
  for (int i = 0; i < call.notices; ++i) {
    sent(notices_.front().assignment_id());
    notices_.pop_front();
  }
  problems_.erase(problems_.begin(), problems_.begin() + call.problems);
  jobs_.erase(jobs_.begin(), jobs_.begin() + call.jobs);
  while (!usage_.empty() && last_usage_ - usage_.size() < call.usage) usage_.pop_front();
  answered_version_ = std::max(answered_version_, call.version);
}

AgentState::Orders AgentState::Answered(uint64_t number, const v1::SyncResponse& response, TimePoint now) {
  Orders orders;
  const auto found = in_flight_.find(number);
  if (found == in_flight_.end()) return orders;
  const InFlight call = std::move(found->second);
  const auto poll_time = poll_times_.find(number);
  const bool early = poll_time != poll_times_.end() && now < poll_time->second + hold_ / 2;
  Forget(number);
  failures_ = 0;
  Acknowledge(call);
  if (number < newest_answered_) return orders;
  newest_answered_ = number;
  for (const auto& [older, flight] : in_flight_) {
    if (older < number) obsolete_.push_back(older);
  }
  for (const uint64_t older : obsolete_) Forget(older);
  if (const milliseconds interval = ToMilliseconds(response.next_interval()); interval.count() > 0) {
    hold_ = std::min(limits_.hold, interval);
  }

  std::set<std::string> wanted;
  bool changed = false;
  for (const v1::Assignment& assignment : response.assignments()) {
    wanted.insert(assignment.id());
    if (const auto held = held_.find(assignment.id());
        held != held_.end() && !(held->second.state == RunningAssignment::ENDED &&
                                 WINNOW_MUTANT("the agent starts again what has ended"))) {
      // An assignment that has ended here is not started again, however often the server names it.
      if (held->second.state != RunningAssignment::PREPARED || assignment.await_start()) continue;
      held->second.state = RunningAssignment::RUNNING;
      orders.start.push_back(assignment);
      ++version_;
      changed = true;
      continue;
    }
    if (leaving_) continue;
    // The next call names it, whichever that is.
    held_[assignment.id()];
    orders.prepare.push_back(assignment);
    changed = true;
  }
  for (auto held = held_.begin(); held != held_.end();) {
    const std::string& id = held->first;
    // The server decided on what the call contained; it cannot have meant an assignment that the call lacked.
    if (wanted.contains(id) || !call.named.contains(id)) {
      ++held;
    } else if (held->second.state == RunningAssignment::ENDED) {
      changed = true;
      if (!call.ended.contains(id)) {
        ++held;
        continue;
      }
      held = held_.erase(held);
      if (leaving_) ++version_;  // the server releases a worker that reports no assignments
    } else {
      if (held->second.state != RunningAssignment::STOPPING) {
        held->second.state = RunningAssignment::STOPPING;
        orders.stop.push_back(id);
        ++version_;
        changed = true;
      }
      ++held;
    }
  }
  // Guards against a busy loop with a server that answers at once, each time with nothing new.
  idle_answers_ = changed || !(early || HasEndedHeld()) ? 0 : idle_answers_ + 1;
  poll_not_before_ = idle_answers_ > 1 ? now + Pause(idle_answers_ - 1) : now;
  if (call.says && IsFull()) poll_not_before_ = std::max(poll_not_before_, now + limits_.poll_pause);
  return orders;
}

AgentState::Setback AgentState::Failed(uint64_t number, const absl::Status& status, TimePoint now) {
  if (!in_flight_.contains(number)) return Setback::kIgnore;
  const bool overtaken = in_flight_.rbegin()->first > number;
  if (WINNOW_MUTANT("the agent forgets what a failed call said")) Acknowledge(in_flight_.at(number));
  Forget(number);
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
      if (now > last_given_up_ + kPeace) given_up_ = 0;
      last_given_up_ = now;
      not_before_ = now + Pause(++given_up_);
      return Setback::kRegisterAgain;
    case absl::StatusCode::kAlreadyExists:  // a live worker has the name
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      // After one success, a refusal means that one request is wrong, or that the server is being replaced.
      if (newest_answered_ == 0) return Setback::kRefused;
      break;
    default:
      break;
  }
  if (overtaken) return Setback::kIgnore;
  ++failures_;
  not_before_ = now + Pause(failures_);
  return Setback::kRetry;
}

// Doubles with each failure, with a jitter of up to a quarter, so that workers do not return all at once.
milliseconds AgentState::Pause(int in_a_row) const {
  const int doublings = std::min(in_a_row - 1, 20);
  const milliseconds pause = std::min(limits_.last_retry, limits_.first_retry * (int64_t{1} << doublings));
  const size_t random = std::hash<std::string>{}(worker_id_ + std::to_string(last_number_));
  return pause - pause * static_cast<int64_t>(random % 256) / 1024;
}

void AgentState::AddReport(v1::Report report) {
  const auto held = held_.find(report.assignment_id());
  if (held == held_.end()) return;
  ++held->second.unsent;
  for (v1::MetricValue& metric : *report.mutable_metrics()) metric.set_name(ValidUtf8(metric.name()));
  reports_.push_back(std::move(report));
}

void AgentState::AddLog(const std::string& assignment, v1::GetLogsRequest::Stream stream, int64_t offset,
                        std::string_view data, bool truncated, TimePoint now) {
  const auto held = held_.find(assignment);
  if (held == held_.end()) return;
  if (!oldest_log_.has_value()) oldest_log_ = now;
  // Unsent chunks are joined, so that each line does not become a message. A chunk once sent never changes.
  if (static_cast<int>(chunks_.size()) > sent_chunks_) {
    v1::LogChunk& last = chunks_.back();
    const bool continues = last.assignment_id() == assignment && last.stream() == stream &&
                           last.offset() + static_cast<int64_t>(last.data().size()) == offset;
    if (continues && last.data().size() + data.size() <= limits_.max_chunk_bytes) {
      last.mutable_data()->append(data);
      last.set_truncated(truncated);
      return;
    }
  }
  v1::LogChunk chunk;
  chunk.set_assignment_id(assignment);
  chunk.set_stream(stream);
  chunk.set_offset(offset);
  chunk.set_data(std::string(data));
  chunk.set_truncated(truncated);
  chunks_.push_back(std::move(chunk));
  ++held->second.unsent;
}

void AgentState::AddNotice(v1::AssignmentNotice notice) {
  const auto held = held_.find(notice.assignment_id());
  if (held == held_.end()) return;
  ++held->second.unsent;
  notice.set_text(ValidUtf8(notice.text()));
  notices_.push_back(std::move(notice));
}

void AgentState::AddModelProblem(v1::ModelProblem problem) {
  problem.set_reason(ValidUtf8(problem.reason()));
  problems_.push_back(std::move(problem));
}

void AgentState::AddUsage(v1::UsageSample sample) {
  usage_.push_back(std::move(sample));
  ++last_usage_;
  while (static_cast<int>(usage_.size()) > limits_.max_usage) usage_.pop_front();
}

void AgentState::SetGpuUse(const std::vector<v1::Gpu>& measured) {
  for (v1::Gpu& gpu : identity_.gpus) {
    for (const v1::Gpu& other : measured) {
      if (gpu.id() != other.id()) continue;
      other.has_utilization() ? gpu.set_utilization(other.utilization()) : gpu.clear_utilization();
      other.has_memory() ? gpu.set_memory(other.memory()) : gpu.clear_memory();
    }
  }
}

void AgentState::SetGpus(std::vector<v1::Gpu> gpus) {
  const std::vector<v1::Gpu> before = std::exchange(identity_.gpus, std::move(gpus));
  SetGpuUse(before);
  for (v1::Gpu& gpu : identity_.gpus) gpu.set_fault(ValidUtf8(gpu.fault()));
  ++version_;
}

void AgentState::Prepared(const std::string& assignment, int rendezvous_port) {
  const auto held = held_.find(assignment);
  if (held == held_.end() || held->second.state != RunningAssignment::RUNNING) return;
  held->second.state = RunningAssignment::PREPARED;
  held->second.rendezvous_port = rendezvous_port;
  ++version_;
}

void AgentState::TookCheckpoint(const std::string& assignment) {
  const auto held = held_.find(assignment);
  if (held == held_.end()) return;
  held->second.took_checkpoint = true;
  ++version_;
}

void AgentState::SetPreparing(const std::string& assignment, std::string what) {
  const auto held = held_.find(assignment);
  if (held == held_.end() || held->second.state != RunningAssignment::RUNNING) return;
  held->second.preparing = ValidUtf8(what);
  ++version_;
}

void AgentState::Ended(const std::string& assignment, v1::Outcome outcome) {
  const auto held = held_.find(assignment);
  if (held == held_.end() || held->second.state == RunningAssignment::ENDED) return;
  outcome.set_reason(ValidUtf8(outcome.reason()));
  held->second.state = RunningAssignment::ENDED;
  held->second.preparing.clear();
  held->second.outcome = std::move(outcome);
  ++version_;
}

void AgentState::Leave(const std::string& reason) {
  if (leaving_) return;
  leaving_ = true;
  leaving_reason_ = ValidUtf8(reason);
  for (auto& [id, held] : held_) {
    if (held.state != RunningAssignment::ENDED) held.state = RunningAssignment::STOPPING;
  }
  ++version_;
}

void AgentState::Register(std::string worker_id) {
  worker_id_ = std::move(worker_id);
  for (const auto& [number, call] : in_flight_) obsolete_.push_back(number);
  in_flight_.clear();
  poll_times_.clear();
  held_.clear();
  reports_.clear();
  chunks_.clear();
  notices_.clear();
  problems_.clear();
  jobs_.clear();
  usage_.clear();
  sent_chunks_ = 0;
  oldest_log_.reset();
  ++version_;
  answered_version_ = 0;
  newest_answered_ = last_number_;
}

std::vector<uint64_t> AgentState::TakeObsolete() { return std::exchange(obsolete_, {}); }

}  // namespace winnow
