#include "worker/agent.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutant.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/runs/failure_cause.h"
#include "worker/storage_id.h"

namespace winnow {
namespace {

// Below the 5 s between the Syncs of an idle worker under the default lease, so that each carries a sample.
constexpr std::chrono::milliseconds kSampleEvery(4'500);

// Between two times at which the worker names the jobs of which it has folders.
constexpr std::chrono::seconds kNamingPause(2);

// Pause between the first two log lines about a server that does not answer; later pauses are longer.
constexpr std::chrono::seconds kFirstWaitingPause(10);
constexpr std::chrono::seconds kLastWaitingPause(300);

std::string Name(const v1::Assignment& assignment) {
  return fmt::format("{} trial {} attempt {} rank {} ({} to {})", assignment.job_id(), assignment.trial(),
                     assignment.attempt(), assignment.rank(), assignment.resource_from(),
                     assignment.resource_to());
}

std::string Self(const AgentOptions& options) {
  return fmt::format("worker {} on {}", options.identity.name, options.identity.host);
}

const char* StartText(v1::PartStart start) {
  if (start == v1::CONTINUED) return "continued";
  return start == v1::FORKED ? "forked" : "started";
}

}  // namespace

Agent::Agent(Timers* timers, SyncClient* client, Trainers* trainers, AgentOptions options)
    : timers_(timers),
      client_(client),
      trainers_(trainers),
      options_(std::move(options)),
      state_(options_.identity, NewWorkerId(), options_.limits),
      last_answer_(timers->Now()) {
  trainers_->TellPreparing([this, alive = alive_](const std::string& id, std::string what) {
    if (!*alive || !running_.contains(id)) return;
    state_.SetPreparing(id, std::move(what));
    Wake();
  });
}

Agent::~Agent() {
  *alive_ = false;
  for (const Timers::Id timer : {pump_timer_, offline_timer_, farewell_timer_}) timers_->Cancel(timer);
}

void Agent::Begin(std::function<void(absl::Status)> left) {
  left_ = std::move(left);
  last_answer_ = timers_->Now();
  next_sample_ = last_answer_ + kSampleEvery;
  WatchOffline();
  Wake();
}

absl::Status Agent::Run(EventLoop* loop) {
  absl::Status result;
  Begin([loop, &result](absl::Status status) {
    result = std::move(status);
    loop->Quit();
  });
  loop->Run();
  return result;
}

void Agent::Leave(std::string reason) {
  timers_->Post([this, alive = alive_, reason = std::move(reason)] {
    if (*alive) BeginLeaving(false, reason);
  });
}

void Agent::LeaveNow() {
  timers_->Post([this, alive = alive_] {
    if (*alive) BeginLeaving(true, "");
  });
}

void Agent::SetGpus(std::vector<v1::Gpu> gpus) {
  state_.SetGpus(std::move(gpus));
  Wake();
}

// One Sync carries everything that happened in one round of the loop.
void Agent::Wake() {
  if (std::exchange(woken_, true)) return;
  timers_->Post([this, alive = alive_] {
    if (!*alive) return;
    woken_ = false;
    Pump();
  });
}

bool Agent::SetConnected(bool connected) {
  const bool before = std::exchange(connected_, connected);
  if (before != connected && options_.connected) options_.connected(connected);
  return before;
}

void Agent::Pump() {
  StartReady();
  CheckLeft();
  if (finished_ || registering_again_) return;
  for (const uint64_t number : state_.TakeObsolete()) client_->Cancel(number);
  if (options_.usage != nullptr && timers_->Now() >= next_sample_) {
    next_sample_ = timers_->Now() + kSampleEvery;
    state_.AddUsage(options_.usage->Sample());
  }
  state_.SetWaiting(trainers_->Waiting());
  while (std::optional<AgentState::Call> call = state_.Next(timers_->Now())) {
    client_->Sync(call->number, call->request, call->timeout,
                  [this, alive = alive_, timers = timers_, number = call->number,
                   worker_id = state_.worker_id()](absl::Status status, v1::SyncResponse response) {
                    timers->Post([this, alive, number, worker_id, status = std::move(status),
                                  response = std::move(response)] {
                      if (*alive) OnDone(number, worker_id, status, response);
                    });
                  });
  }
  timers_->Cancel(std::exchange(pump_timer_, 0));
  if (const auto when = state_.NextTime(); when.has_value()) {
    pump_timer_ = timers_->At(*when, [this] {
      pump_timer_ = 0;
      Pump();
    });
  }
}

void Agent::OnDone(uint64_t number, const std::string& worker_id, const absl::Status& status,
                   const v1::SyncResponse& response) {
  if (finished_ || registering_again_ || worker_id != state_.worker_id()) return;
  if (status.ok()) {
    last_answer_ = timers_->Now();
    if (!SetConnected(true)) {
      spdlog::info("{} as worker {} ({} slots)", ever_connected_ ? "the server is back," : "registered",
                   state_.worker_id(), options_.identity.slots);
    }
    if (!std::exchange(ever_connected_, true)) WatchOffline();
    const AgentState::Orders orders = state_.Answered(number, response, timers_->Now());
    for (const std::string& id : orders.stop) Stop(id);
    for (const v1::Assignment& assignment : orders.prepare) Prepare(assignment);
    for (const v1::Assignment& assignment : orders.start) {
      const auto found = running_.find(assignment.id());
      if (found == running_.end()) continue;
      found->second.assignment = assignment;
      if (found->second.prepared) Start(assignment.id());
    }
    for (const v1::ModelWanted& wanted : response.models_wanted()) StoreModel(wanted);
    for (const v1::WaitingTrainer& trainer : response.let_go()) trainers_->LetGo(trainer);
    trainers_->Spare({response.spare().begin(), response.spare().end()});
    FollowDeletions(response);
  } else {
    last_failure_ = MessageOf(status);
    switch (state_.Failed(number, status, timers_->Now())) {
      case AgentState::Setback::kIgnore:
        break;
      case AgentState::Setback::kRetry:
        if (!ever_connected_) {
          TellWaiting(status);
        } else if (SetConnected(false)) {
          spdlog::warn("no answer from the server: {}; training continues, retrying", status.ToString());
        }
        break;
      case AgentState::Setback::kRegisterAgain:
        spdlog::warn("the server has given this worker up ({}); ending all trainers", MessageOf(status));
        RegisterAgain();
        break;
      case AgentState::Setback::kRefused:
        Finish(status);
        return;
    }
  }
  Wake();
}

void Agent::TellWaiting(const absl::Status& status) {
  const Timers::TimePoint now = timers_->Now();
  if (now < next_waiting_) return;
  spdlog::warn("{} waits for the server at {}; not registered yet: {}", Self(options_), options_.server,
               status.ToString());
  waiting_pause_ = std::clamp(2 * waiting_pause_, kFirstWaitingPause, kLastWaitingPause);
  next_waiting_ = now + waiting_pause_;
}

void Agent::Prepare(const v1::Assignment& assignment) {
  const std::string id = assignment.id();
  running_[id].assignment = assignment;
  trainers_->Prepare(assignment, [this, alive = alive_, id](absl::StatusOr<Trainers::Prepared> prepared) {
    if (*alive) OnPrepared(id, prepared);
  });
}

void Agent::OnPrepared(const std::string& id, const absl::StatusOr<Trainers::Prepared>& prepared) {
  const auto found = running_.find(id);
  if (found == running_.end() || found->second.prepared) return;  // the agent stopped it in the meantime
  if (!prepared.ok()) {
    Ended(id, NotStartedOutcome(prepared.status()));
    return;
  }
  found->second.prepared = true;
  const v1::Assignment& assignment = found->second.assignment;
  if (assignment.origin() > 0 && !assignment.await_start()) {
    state_.TookCheckpoint(id);
    Wake();
  }
  if (WINNOW_MUTANT("a rank starts without the word to start") || !assignment.await_start()) {
    if (assignment.slots() <= FreeSlots() ||
        WINNOW_MUTANT("a part that is held ahead starts without a slot")) {
      Start(id);
    } else {
      ready_.push_back(id);
      trainers_->MakeReady(assignment);
      Wake();
    }
    return;
  }
  state_.Prepared(id, prepared->rendezvous_port);
  Wake();
}

// What those leave that run, or will as soon as the server says so.
int Agent::FreeSlots() const {
  int free = options_.identity.slots;
  for (const auto& [id, running] : running_) {
    if (running.saves) continue;
    if (running.run != nullptr || running.assignment.await_start()) free -= running.assignment.slots();
  }
  return free;
}

// Without the server's answers nothing new starts: it may have given the worker up.
void Agent::StartReady() {
  while (connected_ && !leaving_ && !registering_again_ && !ready_.empty()) {
    const std::string id = ready_.front();
    const auto found = running_.find(id);
    const bool wanted = found != running_.end() && found->second.run == nullptr;
    if (wanted && found->second.assignment.slots() > FreeSlots()) return;
    ready_.pop_front();
    if (wanted) Start(id);
  }
}

// REQUIRES: the assignment is prepared.
void Agent::Start(const std::string& id) {
  Running& running = running_.at(id);
  if (running.run != nullptr) return;
  auto trainer = trainers_->Start(
      running.assignment,
      {[this](v1::Report report) {
         state_.AddReport(std::move(report));
         Wake();
       },
       [this, id](v1::GetLogsRequest::Stream stream, int64_t offset, std::string_view data, bool truncated) {
         state_.AddLog(id, stream, offset, data, truncated, timers_->Now());
         Wake();
       },
       [this, id](v1::Outcome outcome) { Ended(id, std::move(outcome)); },
       [this, id](v1::JobNotice::Kind kind, std::string text) { Notice(id, kind, std::move(text)); },
       [this, id] {
         if (const auto found = running_.find(id); found != running_.end()) found->second.saves = true;
         if (WINNOW_MUTANT("a part has ended when its program only saves")) {
           v1::Outcome outcome;
           outcome.set_kind(v1::Outcome::FINISHED);
           state_.Ended(id, std::move(outcome));
         }
         Wake();
       }});
  if (!trainer.ok()) {
    spdlog::warn("cannot start {}: {}", Name(running.assignment), MessageOf(trainer.status()));
    Ended(id, UnstartedOutcome(trainer.status()));
    return;
  }
  running.run = *std::move(trainer);
  spdlog::info("{} {}: {}", StartText(running.run->part_start()), id, Name(running.assignment));
}

void Agent::Stop(const std::string& id) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  if (found->second.run != nullptr) {
    found->second.run->Stop(RankRun::Why::kUnwanted);
  } else {
    EndUnstarted(id, v1::Outcome::STOPPED);
  }
}

void Agent::EndUnstarted(const std::string& id, v1::Outcome::Kind kind) {
  trainers_->AbandonPrepare(id);
  v1::Outcome outcome;
  outcome.set_kind(kind);
  outcome.set_reason("not started");
  Ended(id, std::move(outcome));
}

void Agent::Ended(const std::string& id, v1::Outcome outcome) {
  spdlog::info("ended {}: {}{}{}", id, v1::Outcome::Kind_Name(outcome.kind()),
               outcome.reason().empty() ? "" : ", ", outcome.reason());
  state_.Ended(id, std::move(outcome));
  running_.erase(std::string(id));
  if (registering_again_ && running_.empty()) RegisterAgain();
  Wake();
}

void Agent::Notice(const std::string& id, v1::JobNotice::Kind kind, std::string text) {
  spdlog::warn("{}: {}", id, text);
  v1::AssignmentNotice notice;
  notice.set_assignment_id(id);
  notice.set_kind(kind);
  notice.set_text(std::move(text));
  state_.AddNotice(std::move(notice));
  Wake();
}

void Agent::StoreModel(const v1::ModelWanted& wanted) {
  trainers_->StoreModel(wanted, [this, alive = alive_, wanted](std::string reason) {
    if (!*alive) return;
    v1::ModelProblem problem;
    problem.set_job_id(wanted.job_id());
    problem.set_trial(wanted.trial());
    problem.set_reason(std::move(reason));
    state_.AddModelProblem(std::move(problem));
    Wake();
  });
}

void Agent::FollowDeletions(const v1::SyncResponse& response) {
  if (response.deleted_jobs_size() > 0)
    trainers_->RemoveJobs({response.deleted_jobs().begin(), response.deleted_jobs().end()});
  if (response.deletions() == deletions_ || state_.NamesJobs() || timers_->Now() < next_naming_) return;
  deletions_ = response.deletions();
  next_naming_ = timers_->Now() + kNamingPause;
  trainers_->ListJobs([this, alive = alive_](std::vector<std::string> marks) {
    if (!*alive) return;
    state_.NameJobs(std::move(marks));
    Wake();
  });
}

std::string Agent::NewWorkerId() const {
  const std::string id = options_.random_id ? options_.random_id() : RandomId();
  return options_.worker_id_prefix + id.substr(options_.worker_id_prefix.size());
}

void Agent::BeginLeaving(bool now, const std::string& reason) {
  if (finished_) return;
  if (!std::exchange(leaving_, true)) {
    spdlog::info("leaving{}{}: {} trainers to stop", reason.empty() ? "" : ", ", reason, running_.size());
    state_.Leave(reason);
    trainers_->LetGoAll(true);
  }
  std::vector<std::string> unstarted;
  for (const auto& [id, running] : running_) {
    if (running.run == nullptr) {
      unstarted.push_back(id);
    } else {
      now ? running.run->Kill(RankRun::Why::kLeaving) : running.run->Stop(RankRun::Why::kLeaving);
    }
  }
  for (const std::string& id : unstarted) EndUnstarted(id, v1::Outcome::HANDED_BACK);
  Wake();
}

// The old id is useless now; the new one must not offer slots that are still occupied.
void Agent::RegisterAgain() {
  trainers_->LetGoAll(false);
  for (const auto& [id, running] : running_) {
    if (running.run == nullptr) trainers_->AbandonPrepare(id);
  }
  std::erase_if(running_, [](const auto& entry) { return entry.second.run == nullptr; });
  if (!running_.empty()) {
    registering_again_ = true;
    for (const auto& [id, running] : running_) running.run->Kill(RankRun::Why::kUnwanted);
    return;
  }
  registering_again_ = false;
  SetConnected(false);
  ever_connected_ = false;
  state_.Register(NewWorkerId());
  deletions_ = -1;
  last_answer_ = timers_->Now();  // that it has given the worker up
  WatchOffline();
  if (leaving_) Finish(leave_status_);
}

void Agent::CheckLeft() {
  if (!leaving_ || finished_ || registering_again_ || !running_.empty()) return;
  if (!ever_connected_ || state_.Settled()) {
    Finish(leave_status_);
  } else if (farewell_timer_ == 0) {
    farewell_timer_ = timers_->After(options_.farewell_timeout, [this] {
      Finish(absl::UnavailableError(
          "the server could not be told how the last trials ended; it will find out by itself"));
    });
  }
}

std::chrono::milliseconds Agent::OfflineLimit() const {
  return ever_connected_ || options_.join_timeout.count() <= 0 ? options_.offline_timeout
                                                               : options_.join_timeout;
}

// REQUIRES: called again when OfflineLimit has changed.
void Agent::WatchOffline() {
  timers_->Cancel(std::exchange(offline_timer_, 0));
  const std::chrono::milliseconds most = OfflineLimit();
  if (most.count() <= 0 || leaving_) return;
  const Timers::TimePoint limit = last_answer_ + most;
  if (timers_->Now() < limit) {
    offline_timer_ = timers_->At(limit, [this] {
      offline_timer_ = 0;
      WatchOffline();
    });
    return;
  }
  leave_status_ = absl::UnavailableError(fmt::format(
      "{} has had no answer from the server at {} for {} s{}{}", Self(options_), options_.server,
      std::chrono::duration<double>(most).count(), last_failure_.empty() ? "" : ": ", last_failure_));
  spdlog::error("{}; stopping", MessageOf(leave_status_));
  BeginLeaving(false, "");
}

void Agent::Finish(absl::Status status) {
  finished_ = true;
  left_(std::move(status));
}

}  // namespace winnow
