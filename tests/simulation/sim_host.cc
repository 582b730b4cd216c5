#include "tests/simulation/sim_host.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace winnow {
namespace {

constexpr size_t kFolderDigits = 16;
constexpr size_t kIdDigits = 32;
constexpr int64_t kDelaysOfLease = 20;
constexpr int64_t kMostHostDownUs = 30'000'000;
// A refused worker is restarted by its supervisor.
constexpr int64_t kRefusedPauseUs = 5'000'000;

}  // namespace

// The calls of one process.
class SimHost::Line : public SyncClient {
 public:
  explicit Line(SimHost* host) : host_(host), setting_(host->setting_) {}
  ~Line() override { *alive_ = false; }

  void Sync(uint64_t number, const v1::SyncRequest& request, std::chrono::milliseconds timeout,
            Done done) override {
    calls_[number] = std::move(done);
    After(timeout.count() * 1000, number, absl::DeadlineExceededError("no answer in time"), {});
    const int copies = setting_->Strikes(Fault::kDuplicated, setting_->profile.duplicate) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      if (setting_->time.now_us() < host_->requests_cut_until_us_ ||
          setting_->Strikes(Fault::kDropped, setting_->profile.drop)) {
        continue;
      }
      setting_->time.After(Delay(), [server = host_->server_, request, reply = Reply(number)] {
        server->Deliver(request, reply);
      });
    }
    setting_->Note("sync", request.worker_id(), static_cast<int64_t>(number), request.reports_size());
  }

  void Cancel(uint64_t number) override { Finish(number, absl::CancelledError("given up"), {}); }

 private:
  int64_t Delay() {
    const Profile& profile = setting_->profile;
    // After recovery a lease is much longer than a message takes.
    const int64_t most_us = setting_->healed ? profile.lease_us / kDelaysOfLease : profile.most_delay_us;
    return setting_->dice.Skewed(1, std::min(most_us, profile.most_delay_us));
  }

  void After(int64_t us, uint64_t number, absl::Status status, v1::SyncResponse response) {
    setting_->time.After(
        us, [this, alive = alive_, number, status = std::move(status), response = std::move(response)] {
          if (*alive) Finish(number, status, response);
        });
  }

  SimServer::Reply Reply(uint64_t number) {
    return [this, alive = alive_, number](absl::StatusOr<v1::SyncResponse> answer) {
      if (!*alive) return;
      if (setting_->time.now_us() < host_->answers_cut_until_us_ ||
          setting_->Strikes(Fault::kDropped, setting_->profile.drop)) {
        return;
      }
      After(Delay(), number, answer.status(), answer.ok() ? *std::move(answer) : v1::SyncResponse());
    };
  }

  void Finish(uint64_t number, const absl::Status& status, const v1::SyncResponse& response) {
    auto call = calls_.extract(number);
    if (call.empty()) return;
    setting_->Note("answer", host_->name(), static_cast<int64_t>(number),
                   static_cast<int64_t>(status.code()));
    call.mapped()(status, response);
  }

  SimHost* const host_;
  Setting* const setting_;
  std::map<uint64_t, Done> calls_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// In this order, because the agent must be destroyed first.
struct SimHost::Process {
  explicit Process(SimHost* host)
      : timers(&host->setting_->time),
        line(host),
        trainers(host->setting_, &timers, host->profile_, &host->clock_skew_us_) {}

  SimTimers timers;
  Line line;
  SimTrainers trainers;
  std::unique_ptr<Agent> agent;
};

SimHost::SimHost(Setting* setting, SimServer* server, const HostProfile* profile)
    : setting_(setting), server_(server), profile_(profile) {}

SimHost::~SimHost() = default;

bool SimHost::Waits() const { return running() && !process_->trainers.Waiting().empty(); }

std::string SimHost::RandomDigits(size_t count) {
  std::string digits;
  while (digits.size() < count) digits += "0123456789abcdef"[setting_->dice.Bits() % 16];
  return digits;
}

void SimHost::Start(bool new_folder) {
  if (new_folder || folder_.empty()) folder_ = RandomDigits(kFolderDigits);
  setting_->Note("worker starts", folder_);
  AgentOptions options;
  options.identity.name = profile_->name;
  options.identity.host = profile_->name;
  options.identity.loopback_of = profile_->loopback_of;
  options.identity.slots = profile_->slots;
  options.identity.storage_id = profile_->storage;
  options.identity.version = "simulated";
  options.identity.cpus = profile_->cpus;
  options.identity.ahead = profile_->ahead;
  setting_->ledger.TakesAhead(profile_->name, profile_->ahead);
  for (int gpu = 0; gpu < profile_->gpus; ++gpu)
    options.identity.gpus.emplace_back().set_id(std::to_string(gpu));
  options.identity.cost_per_hour = profile_->cost_per_hour;
  process_ = std::make_unique<Process>(this);
  const bool leaves = profile_->life_us > 0 && !setting_->healed;
  if (leaves) options.identity.end = process_->timers.Now() + std::chrono::microseconds(profile_->life_us);
  options.limits.max_reports = setting_->profile.max_reports;
  options.worker_id_prefix = folder_;
  options.random_id = [this] { return RandomDigits(kIdDigits); };
  const std::optional<Timers::TimePoint> end = options.identity.end;
  process_->agent =
      std::make_unique<Agent>(&process_->timers, &process_->line, &process_->trainers, std::move(options));
  if (end)
    process_->timers.At(*end, [agent = process_->agent.get()] { agent->Leave("its lifetime is over"); });
  process_->agent->Begin([this](absl::Status status) { Left(status); });
}

void SimHost::Left(const absl::Status& status) {
  setting_->Note("worker has left", profile_->name, static_cast<int64_t>(status.code()));
  // The agent is still running its handler: it is destroyed after this event.
  setting_->time.After(0, [this, process = process_.get()] {
    if (process_.get() != process) return;
    process_ = nullptr;
    StartLater(kRefusedPauseUs);
  });
}

void SimHost::StartLater(int64_t us) {
  setting_->time.After(us, [this] {
    if (!running()) Start(!setting_->healed && setting_->dice.Chance(0.2));
  });
}

void SimHost::Kill() {
  if (!running()) return;
  setting_->Note("worker is killed", profile_->name);
  setting_->Count(Fault::kAgentKilled);
  process_ = nullptr;
  StartLater(setting_->dice.Skewed(1, kMostHostDownUs));
}

void SimHost::Leave() {
  if (!running()) return;
  setting_->Note("worker is to leave", profile_->name);
  setting_->Count(Fault::kWorkerLeaves);
  process_->agent->Leave("preempted");
}

void SimHost::Stall(int64_t us) {
  if (!running()) return;
  setting_->Note("worker stalls", profile_->name, us);
  setting_->Count(Fault::kAgentStalled);
  process_->timers.StallUntil(setting_->time.now_us() + us);
}

void SimHost::CutOff(int64_t us, bool requests_too) {
  setting_->Note("worker is cut off", profile_->name, us, requests_too);
  setting_->Count(requests_too ? Fault::kCutOff : Fault::kAnswersCutOff);
  const int64_t until = setting_->time.now_us() + us;
  answers_cut_until_us_ = until;
  if (requests_too) requests_cut_until_us_ = until;
}

void SimHost::Heal() {
  requests_cut_until_us_ = 0;
  answers_cut_until_us_ = 0;
  clock_skew_us_ = 0;
}

}  // namespace winnow
