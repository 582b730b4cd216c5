#include "bench/played_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

namespace winnow {
namespace {

void Require(const absl::Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", status.ToString());
  std::exit(1);
}

constexpr int64_t kMicros = 1'000'000;

}  // namespace

PlayedEngine::PlayedEngine(const std::string& file, int64_t lease_us) {
  auto store = Store::Open(file);
  Require(store.status());
  store_ = *std::move(store);
  EngineOptions options;
  options.lease_us = lease_us;
  options.clock = {[this] { return now_us; }, [this] { return now_us; }};
  engine_ = std::make_unique<Engine>(*store_, std::move(options));
  Require(engine_->Load());
}

PlayedEngine::~PlayedEngine() { engine_->RefuseAll(absl::UnavailableError("the server is stopping")); }

void PlayedEngine::Run(const std::function<void(Engine&)>& use_cases) {
  engine_->Begin();
  Require(store_->Write([&] {
    use_cases(*engine_);
    engine_->FireDeadlines(engine_->context().steady_us());
    return engine_->Finish();
  }));
  engine_->Committed();
  engine_->TakeEffects();
}

std::string PlayedEngine::Create(const v1::TuningJobSpec& spec) {
  absl::StatusOr<std::string> id;
  Run([&](Engine& engine) { id = engine.CreateJob(spec, "", {}); });
  Require(id.status());
  return *id;
}

PlayedWorker::PlayedWorker(int64_t number, int32_t slots) {
  request_.set_worker_id(fmt::format("{:032x}", number + 1));
  request_.set_name(fmt::format("worker-{}", number));
  request_.set_host(fmt::format("host-{}", number));
  request_.set_slots(slots);
  request_.set_storage_id("bench");
}

void PlayedWorker::Tell(Engine& engine, int reports, bool ends) {
  request_.clear_running();
  request_.clear_reports();
  const int64_t now_us = engine.context().wall_us();
  for (auto& [id, run] : running) {
    if (run.state.state() == v1::RunningAssignment::RUNNING) {
      for (int i = 0; i < reports; ++i) {
        v1::Report& report = *request_.add_reports();
        report.set_assignment_id(id);
        report.set_resource(++run.reached);
        v1::MetricValue& metric = *report.add_metrics();
        metric.set_name("loss");
        metric.set_value(1.0 / static_cast<double>(run.reached));
      }
      if (ends) {
        run.state.set_state(v1::RunningAssignment::ENDED);
        v1::Outcome& outcome = *run.state.mutable_outcome();
        outcome.set_kind(v1::Outcome::FINISHED);
        outcome.mutable_start_time()->set_seconds(now_us / kMicros - 1);
        outcome.mutable_end_time()->set_seconds(now_us / kMicros);
      }
    }
    *request_.add_running() = run.state;
  }
  engine.Sync(request_, [this](absl::StatusOr<v1::SyncResponse> response) {
    if (response.ok()) Act(*response);
  });
}

bool PlayedWorker::awaits_start() const {
  return std::any_of(running.begin(), running.end(), [](const auto& entry) {
    return entry.second.state.state() == v1::RunningAssignment::PREPARED;
  });
}

void PlayedWorker::Act(const v1::SyncResponse& response) {
  std::set<std::string> wanted;
  for (const v1::Assignment& assignment : response.assignments()) {
    wanted.insert(assignment.id());
    Running& run = running[assignment.id()];
    run.state.set_assignment_id(assignment.id());
    if (run.state.state() == v1::RunningAssignment::ENDED) continue;
    run.state.set_state(assignment.await_start() ? v1::RunningAssignment::PREPARED
                                                 : v1::RunningAssignment::RUNNING);
  }
  std::erase_if(running, [&](const auto& entry) { return wanted.count(entry.first) == 0; });
}

}  // namespace winnow
