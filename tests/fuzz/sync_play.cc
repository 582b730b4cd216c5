#include "tests/fuzz/sync_play.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "spec/checks/check_spec.h"
#include "spec/job_file.h"

namespace winnow::fuzz {
namespace {

constexpr int64_t kLeaseUs = 15'000'000;

constexpr int64_t kMostResource = 9;  // of either job

constexpr const char* kJobs[] = {
    R"JSON({"name": "random", "trainer": {"command": ["/bin/true"], "metrics": [{"name": "loss", "regex": "l=(.*)"},
        {"name": "seconds", "regex": "s=(.*)"}]}, "parameters": [{"name": "x", "continuous": {"max": 1}}],
        "objective": {"metric": "loss", "goal": "MINIMIZE"}, "strategy": "RANDOM",
        "limits": {"max_trials": 5, "max_trial_resource": 4}})JSON",
    R"JSON({"name": "gang", "trainer": {"command": ["/bin/true"], "metrics": [{"name": "loss", "regex": "l=(.*)"}]},
        "parameters": [{"name": "x", "continuous": {"max": 1}}], "objective": {"metric": "loss", "goal": "MAXIMIZE"},
        "strategy": "HYPERBAND", "hyperband": {"max_resource": 9}, "cluster": {"nodes": 2}})JSON"};

v1::TuningJobSpec SpecOf(const char* text) {
  const ParsedJobFile file = ParseJobFile(text);
  Require(file.violations.empty() && CheckSpec(file.spec).empty(), "the jobs of this fuzzer are valid");
  return file.spec;
}

std::unique_ptr<Store> NewStore() {
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(":memory:");
  Require(store.ok(), "tables can be made in memory: " + store.status().ToString());
  return *std::move(store);
}

}  // namespace

Play::Play() : store_(NewStore()), engine_(MakeEngine()) {}

std::unique_ptr<Engine> Play::MakeEngine() {
  EngineOptions options;
  options.lease_us = kLeaseUs;
  options.clock = {[this] { return now_us_; }, [this] { return now_us_; }};
  options.random_bits = [this] { return ++tokens_; };
  auto engine = std::make_unique<Engine>(*store_, std::move(options));
  const absl::Status loaded = engine->Load();
  Require(loaded.ok(), "the tables can be loaded: " + loaded.ToString());
  return engine;
}

void Play::Batch(const std::function<void()>& use_case) {
  engine_->Begin();
  const absl::Status status = store_->Write([&] {
    use_case();
    engine_->FireDeadlines(engine_->context().steady_us());
    return engine_->Finish();
  });
  Require(status.ok(), "no call keeps a batch from being recorded: " + status.ToString());
  engine_->Committed();
  engine_->TakeEffects();
  CheckCluster();
}

void Play::CreateJob(size_t which) {
  static const v1::TuningJobSpec kSpecs[] = {SpecOf(kJobs[0]), SpecOf(kJobs[1])};
  Batch([&] {
    const absl::StatusOr<std::string> id = engine_->CreateJob(kSpecs[which], "", {});
    Require(id.ok(), "a valid job is taken: " + id.status().ToString());
    jobs_.push_back(*id);
  });
}

void Play::StopJob(size_t number) {
  Batch([&] { Require(engine_->StopJob(jobs_[number % jobs_.size()], {}).ok(), "a job can be stopped"); });
}

void Play::Tick(int64_t us) {
  Batch([&] { now_us_ += us; });
}

std::vector<v1::Report> Play::Due(const v1::SyncRequest& request) {
  std::vector<v1::Report> due;
  // With several, an earlier one may end the trial; a new worker's id holds nothing.
  if (request.reports_size() != 1) return due;
  const v1::Report& report = request.reports(0);
  const Rank* held = engine_->attempts().Find(report.assignment_id());
  if (held == nullptr || held->row.worker != request.worker_id() || !held->wanted()) return due;
  const WorkerEntry* worker = engine_->workers().Find(request.worker_id());
  if (worker == nullptr || !worker->present() || held->row.rank != 0 || report.resource() < 1) return due;
  if (held->row.resource_to > 0 && report.resource() > held->row.resource_to) return due;
  const OpenJob* job = engine_->jobs().FindKey(held->row.job);
  if (job != nullptr && !job->state.trial(held->row.trial).ended()) due.push_back(report);
  return due;
}

void Play::CheckKept(const v1::SyncRequest& request, const std::vector<v1::Report>& due) {
  for (const v1::Report& report : due) {
    const auto row = store_->assignments.Find(report.assignment_id());
    Require(row.ok() && row->has_value(), "assignments stay in the tables");
    const AssignmentRow& held = **row;
    for (const v1::MetricValue& metric : report.metrics()) {
      const auto found =
          store_->facts.FindReport(held.job, held.trial, held.attempt, report.resource(), metric.name());
      Require(found.ok() && found->has_value(),
              fmt::format("a live assignment's report is kept: {}", request.ShortDebugString()));
    }
  }
}

void Play::Sync(const v1::SyncRequest& request) {
  slots_[request.worker_id()] = std::max(slots_[request.worker_id()], request.slots());
  const std::vector<v1::Report> due = Due(request);
  ++asked_;
  const auto result = std::make_shared<std::optional<absl::Status>>();
  Batch([&] {
    engine_->Sync(request, [this, id = request.worker_id(), result](const auto& answer) {
      Require(!result->has_value(), "a call is answered once");
      *result = answer.status();
      Answered(id, answer);
    });
  });
  if (result->has_value() && (*result)->ok()) CheckKept(request, due);
}

void Play::Answered(const std::string& worker, const absl::StatusOr<v1::SyncResponse>& answer) {
  ++answered_;
  if (!answer.ok()) {
    told_.erase(worker);
    return;
  }
  std::set<std::string>& told = told_[worker];
  told.clear();
  for (const v1::Assignment& assignment : answer->assignments()) {
    Require(told.insert(assignment.id()).second, "an assignment is told once in an answer");
    const auto [owner, fresh] = owner_.emplace(assignment.id(), worker);
    Require(owner->second == worker, "an assignment is one worker's");
    if (fresh) ids_.push_back(assignment.id());
    if (assignment.job_id().empty()) continue;  // the request has named it
    Require(assignment.rank() >= 0 && assignment.rank() < assignment.world_size() &&
                assignment.peers_size() == assignment.world_size(),
            "a rank is one of its trial cluster");
  }
}

void Play::CheckCluster() {
  std::map<std::pair<int64_t, TrialNumber>, std::set<int64_t>> attempts;
  std::set<std::tuple<int64_t, TrialNumber, int32_t>> ranks;
  for (const auto& [id, worker] : engine_->workers().all()) {
    Require(static_cast<int64_t>(worker.held.size()) <= slots_[id],
            "a worker holds no more than it has slots");
    Require(worker.present() || worker.held.empty(), "who is gone holds nothing");
    for (const auto& [key, held] : worker.held) {
      attempts[{held->row.job, held->row.trial}].insert(held->row.attempt);
      Require(ranks.insert({held->row.job, held->row.trial, held->row.rank}).second, "a rank is held once");
    }
  }
  for (const auto& [trial, numbers] : attempts)
    Require(numbers.size() == 1, "a trial has one live attempt at most");
  for (const auto& [key, job] : engine_->jobs().all()) {
    const Limits& limits = job->state.spec().limits;
    const auto trials = static_cast<int64_t>(job->state.trials().size());
    Require(limits.max_trials == 0 || trials <= limits.max_trials, "a job has no more trials than it may");
    for (const TrialState& trial : job->state.trials())
      Require(trial.curve.empty() || trial.curve.back().first <= kMostResource,
              "no trial is trained beyond its end");
  }
}

void Play::CheckTables() {
  for (const auto& [key, job] : engine_->jobs().all()) {
    JobState loaded(job->state.spec());
    const absl::StatusOr<std::vector<Fact>> facts = store_->facts.Load(key);
    Require(facts.ok(), "facts can be read");
    for (const Fact& fact : *facts) loaded.Apply(fact);
    Require(loaded == job->state, "the facts give the state in memory");
    for (const TrialState& trial : job->state.trials()) {
      const auto row = store_->trials.Find(key, trial.number);
      Require(row.ok() && row->has_value() && **row == MakeTrialRow(trial),
              "a trial's row says what its state says");
    }
  }
}

void Play::Reload() {
  CheckTables();
  engine_->RefuseAll(absl::UnavailableError("killed"));
  engine_ = MakeEngine();
  CheckCluster();
}

void Play::End() {
  CheckTables();
  engine_->RefuseAll(absl::UnavailableError("the end"));
  Require(asked_ == answered_, "every call is answered");
}

const std::set<std::string>& Play::told(const std::string& worker) const {
  static const std::set<std::string> kNone;
  const auto found = told_.find(worker);
  return found == told_.end() ? kNone : found->second;
}

std::string Play::AnyId(Input& input) const {
  const uint32_t choice = input.Number();
  return choice < ids_.size() ? ids_[choice] : "0123456789abcdef";
}

}  // namespace winnow::fuzz
