#include "worker/agent.h"

#include <optional>
#include <utility>

#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/storage_id.h"

namespace winnow {
namespace {

EventLoop::TimePoint Now() { return EventLoop::Clock::now(); }

std::string Name(const v1::Assignment& assignment) {
  return fmt::format("{} trial {} attempt {} rank {} ({} to {})", assignment.job_id(), assignment.trial(),
                     assignment.attempt(), assignment.rank(), assignment.resource_from(),
                     assignment.resource_to());
}

}  // namespace

Agent::Agent(EventLoop* loop, SyncClient* client, AgentOptions options)
    : loop_(loop),
      client_(client),
      options_(std::move(options)),
      state_(options_.identity, NewWorkerId(), options_.limits),
      last_answer_(Now()) {}

Agent::~Agent() {
  for (const EventLoop::Id timer : {pump_timer_, offline_timer_, farewell_timer_}) loop_->Cancel(timer);
}

absl::Status Agent::Run() {
  last_answer_ = Now();
  WatchOffline();
  Wake();
  loop_->Run();
  return result_;
}

void Agent::Leave() {
  loop_->Post([this] { BeginLeaving(false); });
}

void Agent::LeaveNow() {
  loop_->Post([this] { BeginLeaving(true); });
}

// Everything that happens in one round of the loop is sent together.
void Agent::Wake() {
  if (std::exchange(woken_, true)) return;
  loop_->Post([this] {
    woken_ = false;
    Pump();
  });
}

void Agent::Pump() {
  CheckLeft();
  if (finished_ || registering_again_) return;
  for (const uint64_t number : state_.TakeObsolete()) client_->Cancel(number);
  while (std::optional<AgentState::Call> call = state_.Next(Now())) {
    client_->Sync(
        call->number, call->request, call->timeout,
        [this, loop = loop_, number = call->number, worker_id = state_.worker_id()](
            absl::Status status, v1::SyncResponse response) {
          loop->Post([this, number, worker_id, status = std::move(status), response = std::move(response)] {
            OnDone(number, worker_id, status, response);
          });
        });
  }
  loop_->Cancel(std::exchange(pump_timer_, 0));
  if (const auto when = state_.NextTime(); when.has_value()) {
    pump_timer_ = loop_->At(*when, [this] {
      pump_timer_ = 0;
      Pump();
    });
  }
}

void Agent::OnDone(uint64_t number, const std::string& worker_id, const absl::Status& status,
                   const v1::SyncResponse& response) {
  if (finished_ || registering_again_ || worker_id != state_.worker_id()) return;
  if (status.ok()) {
    last_answer_ = Now();
    if (!std::exchange(connected_, true)) {
      spdlog::info("{} as worker {} ({} slots)", ever_connected_ ? "the server is back," : "registered",
                   state_.worker_id(), options_.identity.slots);
    }
    ever_connected_ = true;
    const AgentState::Orders orders = state_.Answered(number, response, Now());
    for (const std::string& id : orders.stop) {
      if (const auto running = running_.find(id); running != running_.end()) {
        running->second.run->Stop(TrainerRun::Why::kUnwanted);
      }
    }
    for (const v1::Assignment& assignment : orders.start) Start(assignment);
  } else {
    switch (state_.Failed(number, status, Now())) {
      case AgentState::Setback::kIgnore:
        break;
      case AgentState::Setback::kRetry:
        if (std::exchange(connected_, false) || !ever_connected_) {
          spdlog::warn("no answer from the server: {}; training goes on and the server is tried again",
                       status.ToString());
        }
        break;
      case AgentState::Setback::kRegisterAgain:
        spdlog::warn("the server has given this worker up ({}); ending all trainers",
                     std::string(status.message()));
        RegisterAgain();
        break;
      case AgentState::Setback::kRefused:
        Finish(status);
        return;
    }
  }
  Wake();
}

void Agent::Start(const v1::Assignment& assignment) {
  const std::string id = assignment.id();
  const int slot = FreeSlot();
  auto run = TrainerRun::Start(
      loop_, options_.place, assignment, options_.identity.rendezvous_port + slot,
      {[this](v1::Report report) {
         state_.AddReport(std::move(report));
         Wake();
       },
       [this, id](v1::GetLogsRequest::Stream stream, int64_t offset, std::string_view data, bool truncated) {
         state_.AddLog(id, stream, offset, data, truncated, Now());
         Wake();
       },
       [this, id](v1::Outcome outcome) { Ended(id, std::move(outcome)); }});
  if (!run.ok()) {
    spdlog::warn("cannot start {}: {}", Name(assignment), std::string(run.status().message()));
    Ended(id, FailedOutcome(std::string(run.status().message())));
    return;
  }
  spdlog::info("started {}: {}", id, Name(assignment));
  running_[id] = {slot, *std::move(run)};
}

void Agent::Ended(const std::string& id, v1::Outcome outcome) {
  spdlog::info("ended {}: {}{}{}", id, v1::Outcome::Kind_Name(outcome.kind()),
               outcome.reason().empty() ? "" : ", ", outcome.reason());
  state_.Ended(id, std::move(outcome));
  running_.erase(std::string(id));
  if (registering_again_ && running_.empty()) RegisterAgain();
  Wake();
}

std::string Agent::NewWorkerId() const {
  return options_.worker_id_prefix + RandomId().substr(options_.worker_id_prefix.size());
}

int Agent::FreeSlot() const {
  std::set<int> used;
  for (const auto& [id, running] : running_) used.insert(running.slot);
  int slot = 0;
  while (used.contains(slot)) ++slot;
  return slot;
}

void Agent::BeginLeaving(bool now) {
  if (finished_) return;
  if (!std::exchange(leaving_, true)) {
    spdlog::info("leaving: {} trainers to stop", running_.size());
    state_.Leave();
  }
  for (const auto& [id, running] : running_) {
    now ? running.run->Kill(TrainerRun::Why::kLeaving) : running.run->Stop(TrainerRun::Why::kLeaving);
  }
  Wake();
}

// The old id is of no use any more, and the new one must not offer slots that are not free yet.
void Agent::RegisterAgain() {
  if (!running_.empty()) {
    registering_again_ = true;
    for (const auto& [id, running] : running_) running.run->Kill(TrainerRun::Why::kUnwanted);
    return;
  }
  registering_again_ = false;
  connected_ = false;
  ever_connected_ = false;
  state_.Register(NewWorkerId());
  if (leaving_) Finish(leave_status_);
}

void Agent::CheckLeft() {
  if (!leaving_ || finished_ || registering_again_ || !running_.empty()) return;
  if (!ever_connected_ || state_.Settled()) {
    Finish(leave_status_);
  } else if (farewell_timer_ == 0) {
    farewell_timer_ = loop_->After(options_.farewell_timeout, [this] {
      Finish(absl::UnavailableError(
          "the server could not be told how the last trials ended; it will find out by itself"));
    });
  }
}

void Agent::WatchOffline() {
  offline_timer_ = 0;
  if (options_.offline_timeout.count() <= 0 || leaving_) return;
  const EventLoop::TimePoint limit = last_answer_ + options_.offline_timeout;
  if (Now() < limit) {
    offline_timer_ = loop_->At(limit, [this] { WatchOffline(); });
    return;
  }
  leave_status_ = absl::UnavailableError(fmt::format(
      "no answer from the server for {} s", std::chrono::duration<double>(options_.offline_timeout).count()));
  spdlog::error("{}; stopping", std::string(leave_status_.message()));
  BeginLeaving(false);
}

void Agent::Finish(absl::Status status) {
  finished_ = true;
  result_ = std::move(status);
  loop_->Quit();
}

}  // namespace winnow
