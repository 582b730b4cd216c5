#include "tests/simulation/sim_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "scheduler/suggest.h"

namespace winnow {
namespace {

// Start of virtual time.
constexpr int64_t kEpochUs = 1'700'000'000'000'000;
constexpr int64_t kMostBatchDelayUs = 20'000;
constexpr int64_t kMostThinkUs = 5'000'000;
constexpr int64_t kStandstillParts = 3;

}  // namespace

struct SimServer::Thinking {
  explicit Thinking(const SearchSpec& spec) : state(spec) {}
  JobState state;
};

SimServer::SimServer(Setting* setting, SimDatabase* database) : setting_(setting), database_(database) {}

SimServer::~SimServer() {
  FillDisk(false);
  HookCommits(database_->store().database(), nullptr);
}

CommitFate SimServer::FateOf() {
  if (std::exchange(fail_commit_, false)) {
    if (!silent_ && database_->has_connection() && setting_->dice.Chance(0.5)) {
      setting_->Count(Fault::kCommitUnknown);
      return CommitFate::kUnknown;
    }
    setting_->Count(Fault::kCommitFails);
    return CommitFate::kFails;
  }
  return refuses_ ? CommitFate::kDiskFull : CommitFate::kCommits;
}

void SimServer::Start() {
  ++life_;
  setting_->Note("server starts", "", static_cast<int64_t>(life_));
  started_us_ = setting_->time.now_us();
  death_ = Death::kAtOnce;
  EngineOptions options;
  options.lease_us = setting_->profile.lease_us;
  options.short_part_us = setting_->profile.short_part_us;
  options.clock = {[this] { return kEpochUs + setting_->time.now_us() + clock_skew_us_; },
                   [this] { return setting_->time.now_us() - started_us_; }};
  options.random_bits = [this] { return setting_->dice.Bits(); };
  for (const HostProfile& host : setting_->profile.hosts) {
    WorkerRoom& room = options.declared.emplace_back(WorkerRoom{host.name, host.slots, host.storage});
    room.loopback_of = host.loopback_of;
    for (int gpu = 0; gpu < host.gpus; ++gpu) room.gpus.push_back({std::to_string(gpu)});
  }
  if (absl::Status begun = database_->BeginServer(); !begun.ok()) {
    setting_->ledger.Fail("the server cannot open its store: " + begun.ToString());
    return;
  }
  Store& store = database_->store();
  HookCommits(store.database(), this);
  engine_ = std::make_unique<Engine>(store, std::move(options));
  if (absl::Status loaded = engine_->Load(); !loaded.ok()) {
    setting_->ledger.Fail("the server cannot load what it stored: " + loaded.ToString());
  }
  batches_of_ = std::make_unique<Batches>(store, *engine_);
  batches_of_->OnQuestions([this](const std::vector<Question>& questions) { return Join(questions); });
  Plan();
}

void SimServer::Drop(int64_t down_us) {
  setting_->Note("server dies", "", static_cast<int64_t>(life_));
  batches_of_ = nullptr;
  engine_ = nullptr;
  database_->EndServer();
  queue_.clear();
  models_.clear();
  setting_->time.Cancel(std::exchange(turn_, 0));
  setting_->time.After(down_us, [this] {
    if (!up()) Start();
  });
}

void SimServer::Die(Death death, int64_t down_us) {
  if (!up()) return;
  down_us_ = down_us;
  death_ = death;
  if (death == Death::kAtOnce) {
    setting_->Count(Fault::kServerKilled);
    Drop(down_us);
  }
}

void SimServer::Stall(int64_t us) {
  if (!up()) return;
  setting_->Note("server stalls", "", us);
  setting_->Count(Fault::kServerStalled);
  stalled_until_us_ = setting_->time.now_us() + us;
  // As the coordinator detects when it continues.
  if (us * kStandstillParts > setting_->profile.lease_us) batches_of_->StoodStill();
  Plan();
}

void SimServer::FillDisk(bool full) {
  if (full_ == full) return;
  full_ = full;
  if (full) setting_->Count(Fault::kDiskFull);
  setting_->Note(full ? "disk is full" : "disk has room");
  refuses_ = !database_->FillDisk(full) && full;
}

void SimServer::Heal() {
  stalled_until_us_ = 0;
  clock_skew_us_ = 0;
  fail_commit_ = false;
  death_ = Death::kAtOnce;
  FillDisk(false);
  if (!up()) Start();
}

void SimServer::Use(std::function<void(Engine&)> run, std::function<void(const absl::Status&)> complete) {
  if (!up()) {
    complete(absl::UnavailableError("nobody listens"));
    return;
  }
  queue_.push_back({std::move(run), std::move(complete)});
  Plan();
}

void SimServer::Deliver(const v1::SyncRequest& request, const Reply& reply) {
  if (!up()) {
    reply(absl::UnavailableError("nobody listens"));
    return;
  }
  auto taken = std::make_shared<bool>(false);  // then the engine answers, even if the batch fails
  Use(
      [this, request, reply, taken](Engine& engine) {
        *taken = true;
        auto ticket = std::make_shared<Ledger::Ticket>(0);
        *ticket = setting_->ledger.Take(request, [&] {
          const auto answered = [this, reply, ticket](absl::StatusOr<v1::SyncResponse> answer) {
            if (silent_) return;
            if (answer.ok()) setting_->ledger.Acknowledged(*ticket);
            reply(std::move(answer));
          };
          engine.Sync(request, answered, "", ProjectsOf(request.name()));
        });
      },
      [reply, taken](const absl::Status& committed) {
        if (!*taken) reply(absl::UnavailableError(std::string(committed.message())));
      });
}

std::vector<std::string> SimServer::ProjectsOf(const std::string& worker) const {
  for (const HostProfile& host : setting_->profile.hosts) {
    if (host.name == worker) return host.projects;
  }
  return {};
}

// Plans the next batch: soon if something waits, otherwise when something is due.
void SimServer::Plan() {
  setting_->time.Cancel(turn_);
  int64_t at = std::numeric_limits<int64_t>::max();
  if (!queue_.empty()) at = setting_->time.now_us() + setting_->dice.Skewed(0, kMostBatchDelayUs);
  if (const auto deadline = batches_of_->next_deadline()) at = std::min(at, started_us_ + *deadline);
  turn_ = 0;
  if (at == std::numeric_limits<int64_t>::max()) return;
  turn_ = setting_->time.At(std::max(at, stalled_until_us_), [this, life = life_] { Turn(life); });
}

// Dies if requested; true: it is dead, and nobody was answered.
bool SimServer::DieInBatch(std::deque<UseCase>& batch) {
  if (death_ == Death::kAtOnce) return false;
  const bool commits = death_ == Death::kAfterCommit;
  setting_->Count(commits ? Fault::kServerKilledAfterCommit : Fault::kServerKilledBeforeCommit);
  fail_commit_ = !commits;
  silent_ = true;
  if (!batches_of_->Run(batch, engine_->context().steady_us()).ok()) setting_->ledger.RolledBack();
  silent_ = false;
  fail_commit_ = false;
  Drop(down_us_);
  return true;
}

void SimServer::Turn(uint64_t life) {
  if (life != life_ || !up()) return;
  turn_ = 0;
  std::deque<UseCase> batch;
  batch.swap(queue_);
  setting_->Note("batch", "", static_cast<int64_t>(batch.size()));
  ++batches_;
  if (DieInBatch(batch)) return;
  const absl::Status status = batches_of_->Run(batch, engine_->context().steady_us());
  setting_->Note("batch is over", "", static_cast<int64_t>(status.code()));
  if (status.ok()) {
    setting_->ledger.CheckEngine(*engine_, setting_->dice.Chance(setting_->profile.thorough));
    Follow(engine_->TakeEffects());
    if (on_commit) on_commit(*engine_);
  } else {
    setting_->ledger.RolledBack();
  }
  if (absl::IsDataLoss(status)) {
    setting_->ledger.Fail("the server gives up: " + status.ToString());
  }
  for (const UseCase& use_case : batch) use_case.complete(status);
  Plan();
}

void SimServer::Follow(const Engine::Effects& effects) {
  for (const Question& question : effects.questions) Ask(question);
  for (const int64_t job : effects.ended) models_.erase(job);
}

void SimServer::Ask(const Question& question) {
  const int64_t key = question.job, epoch = question.epoch;
  if (models_.count(key) == 0) models_[key] = std::make_unique<Thinking>(question.spec);
  setting_->time.After(setting_->dice.Skewed(1, kMostThinkUs),
                       [this, life = life_, key, epoch] { Think(life, key, epoch); });
}

// Some models answer while the batch is open.
std::deque<UseCase> SimServer::Join(const std::vector<Question>& questions) {
  std::deque<UseCase> joining;
  for (const Question& question : questions) {
    if (!setting_->dice.Chance(0.3)) {
      Ask(question);
    } else {
      joining.push_back(AnswerOf(question));
    }
  }
  return joining;
}

// From what is recorded, and not committed yet.
UseCase SimServer::AnswerOf(const Question& question) {
  JobState state(question.spec);
  const auto facts = database_->store().facts.Load(question.job, 0);
  if (!facts.ok()) {
    setting_->ledger.Fail("facts cannot be read: " + facts.status().ToString());
    return {[](Engine&) {}, [](const absl::Status&) {}};
  }
  for (const Fact& fact : *facts) state.Apply(fact);
  const auto& own = question.facts;
  const bool newest = own.size() <= facts->size() &&
                      std::equal(own.rbegin(), own.rend(), facts->rbegin(), [](const Fact& a, const Fact& b) {
                        return a.sequence == b.sequence && Identical(a.body, b.body);
                      });
  if (!newest) setting_->ledger.Fail("a question does not have the newest facts");
  std::optional<Suggested> answer;
  if (WantsSuggestion(state)) answer = Suggest(state);
  setting_->Note("model answers at once", "", question.job, answer ? answer->trial : -1);
  return {[job = question.job, epoch = question.epoch, answer](Engine& engine) {
            engine.TakeSuggestion(job, epoch, answer);
          },
          [](const absl::Status&) {}};
}

// Like SuggestionThread: uses everything committed so far.
void SimServer::Think(uint64_t life, int64_t job, int64_t epoch) {
  if (life != life_ || !up()) return;
  std::optional<Suggested> answer;
  if (const auto found = models_.find(job); found != models_.end()) {
    JobState& state = found->second->state;
    const auto facts = database_->store().facts.Load(job, state.last_sequence());
    if (!facts.ok()) return setting_->ledger.Fail("facts cannot be read: " + facts.status().ToString());
    for (const Fact& fact : *facts) state.Apply(fact);
    if (WantsSuggestion(state)) answer = Suggest(state);
  }
  setting_->Note("model answers", "", job, answer ? answer->trial : -1);
  Use([job, epoch, answer](Engine& engine) { engine.TakeSuggestion(job, epoch, answer); },
      [](const absl::Status&) {});
}

}  // namespace winnow
