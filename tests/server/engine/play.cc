#include "tests/server/engine/play.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "tests/catch.h"
#include "tests/store/get.h"

namespace winnow {

using google::protobuf::util::TimeUtil;

namespace {

template <typename T>
T Wait(std::future<T> future) {
  if (future.wait_for(std::chrono::seconds(30)) != std::future_status::ready)
    FAIL("a call was not completed");
  return future.get();
}

template <typename Answer>
Answer CallAndWait(Coordinator& coordinator, std::function<Answer(Engine&)> run) {
  auto promise = std::make_shared<std::promise<Answer>>();
  coordinator.Call<Answer>(std::move(run),
                           [promise](Answer answer) { promise->set_value(std::move(answer)); });
  return Wait(promise->get_future());
}

double DefaultObjective(TrialNumber trial, int64_t resource) {
  double quality = static_cast<double>(trial * 37 % 101) / 101;
  return quality + 1.0 / static_cast<double>(resource);
}

}  // namespace

Play::Play(int64_t lease_us, BlobIndex* blobs) : lease_us_(lease_us), blobs_(blobs) { Start(); }

Play::~Play() {
  reads_ = nullptr;
  rows_ = nullptr;
  coordinator_ = nullptr;
}

void Play::Start() {
  auto store = Store::Open(file());
  REQUIRE(store.ok());
  EngineOptions options;
  options.lease_us = lease_us_;
  options.blobs = blobs_;
  options.clock = time.clock();
  options.make_model = make_model;
  options.metrics = metrics;
  options.projects = project_rules;
  options.audit_keep_us = audit_keep_us;
  options.jobs_keep_us = jobs_keep_us;
  options.jobs_keep_number = jobs_keep_number;
  options.jobs_keep_bytes = jobs_keep_bytes;
  options.tell = tell;
  options.rank_tls = rank_tls;
  options.issue_credentials = [](const std::string&, int64_t, int64_t, int32_t ranks) {
    std::vector<v1::RankCredentials> all(static_cast<size_t>(ranks));
    for (size_t rank = 0; rank < all.size(); ++rank) all[rank].set_certificate(std::to_string(rank));
    return all;
  };
  auto coordinator = Coordinator::Start(*std::move(store), hub, std::move(options));
  INFO(coordinator.status().ToString());
  REQUIRE(coordinator.ok());
  coordinator_ = *std::move(coordinator);
  auto rows = Store::OpenReadOnly(file());
  REQUIRE(rows.ok());
  rows_ = *std::move(rows);
  reads_ = std::make_unique<Reads>(*rows_, time.clock());
}

void Play::Restart(int64_t down_us) {
  reads_ = nullptr;
  rows_ = nullptr;
  coordinator_ = nullptr;
  time.now_us += down_us;
  Start();
}

absl::Status Play::Inside(std::function<void(Engine&)> body) {
  auto promise = std::make_shared<std::promise<absl::Status>>();
  coordinator_->Post(
      {std::move(body), [promise](const absl::Status& status) { promise->set_value(status); }});
  return Wait(promise->get_future());
}

void Play::Tick(int64_t us) {
  REQUIRE(Inside([](Engine&) {}).ok());  // what was posted before happened before
  time.now_us += us;
  coordinator_->Wake();
  REQUIRE(Inside([](Engine&) {}).ok());  // the deadlines have fired
}

absl::StatusOr<std::string> Play::TryCreate(const v1::TuningJobSpec& spec, const std::string& request_id,
                                            WarmStart start) {
  return CallAndWait<absl::StatusOr<std::string>>(
      *coordinator_, [&](Engine& engine) { return engine.CreateJob(spec, request_id, start); });
}

std::string Play::Create(const v1::TuningJobSpec& spec, const std::string& request_id, WarmStart start) {
  const absl::StatusOr<std::string> id = TryCreate(spec, request_id, std::move(start));
  INFO(id.status().ToString());
  REQUIRE(id.ok());
  return *id;
}

absl::Status Play::Stop(const std::string& id) {
  return CallAndWait<absl::Status>(*coordinator_, [&](Engine& engine) { return engine.StopJob(id, {}); });
}

absl::Status Play::Delete(const std::string& id) {
  return CallAndWait<absl::Status>(*coordinator_, [&](Engine& engine) { return engine.DeleteJob(id, {}); });
}

std::future<absl::StatusOr<v1::SyncResponse>> Play::StartSync(const v1::SyncRequest& request,
                                                              const std::string& caller,
                                                              const std::vector<std::string>& projects) {
  auto promise = std::make_shared<std::promise<absl::StatusOr<v1::SyncResponse>>>();
  coordinator_->Sync(
      request, [promise](auto answer) { promise->set_value(std::move(answer)); }, caller, projects);
  return promise->get_future();
}

absl::StatusOr<v1::SyncResponse> Play::Sync(const v1::SyncRequest& request, const std::string& caller,
                                            const std::vector<std::string>& projects) {
  return Wait(StartSync(request, caller, projects));
}

std::future<absl::StatusOr<v1::SuggestTrialsResponse>> Play::StartAsk(const v1::SuggestTrialsRequest& request,
                                                                      int64_t* ticket) {
  auto promise = std::make_shared<std::promise<absl::StatusOr<v1::SuggestTrialsResponse>>>();
  const int64_t given =
      coordinator_->SuggestTrials(request, [promise](auto answer) { promise->set_value(std::move(answer)); });
  if (ticket != nullptr) *ticket = given;
  return promise->get_future();
}

absl::StatusOr<v1::SuggestTrialsResponse> Play::Ask(const v1::SuggestTrialsRequest& request) {
  return Wait(StartAsk(request));
}

absl::StatusOr<v1::ReportMetricsResponse> Play::Report(const v1::ReportMetricsRequest& request) {
  auto promise = std::make_shared<std::promise<absl::StatusOr<v1::ReportMetricsResponse>>>();
  coordinator_->ReportMetrics(request, [promise](auto answer) { promise->set_value(std::move(answer)); });
  return Wait(promise->get_future());
}

absl::StatusOr<v1::CompleteTrialResponse> Play::Complete(const v1::CompleteTrialRequest& request) {
  auto promise = std::make_shared<std::promise<absl::StatusOr<v1::CompleteTrialResponse>>>();
  coordinator_->CompleteTrial(request, [promise](auto answer) { promise->set_value(std::move(answer)); });
  return Wait(promise->get_future());
}

void Play::AwaitModels() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (bool asked = true; asked;) {
    auto promise = std::make_shared<std::promise<bool>>();
    auto engine = std::make_shared<Engine*>(nullptr);
    // Looked at after the batch, whose end may ask a model.
    coordinator_->Post({[engine](Engine& the_engine) { *engine = &the_engine; },
                        [engine, promise](const absl::Status& status) {
                          bool any = !status.ok();
                          if (status.ok()) {
                            for (const auto& [key, job] : (*engine)->jobs().all()) {
                              any = any || job->awaits_suggestion;
                            }
                          }
                          promise->set_value(any);
                        }});
    asked = Wait(promise->get_future());
    if (std::chrono::steady_clock::now() > until) FAIL("a model has not answered");
    std::this_thread::yield();
  }
}

v1::TuningJob Play::Describe(const std::string& id) {
  auto job = reads_->DescribeTuningJob(id);
  INFO(job.status().ToString());
  REQUIRE(job.ok());
  return *job;
}

std::vector<v1::Trial> Play::Trials(const std::string& id) {
  v1::ListTrialsRequest request;
  request.set_job_id(id);
  request.set_page_size(10'000);
  auto trials = reads_->ListTrials(request);
  REQUIRE(trials.ok());
  return {trials->trials().begin(), trials->trials().end()};
}

std::vector<v1::Worker> Play::Workers(bool include_gone) {
  auto promise = std::make_shared<std::promise<absl::StatusOr<std::vector<v1::Worker>>>>();
  coordinator_->ListWorkers(include_gone,
                            [promise](auto workers) { promise->set_value(std::move(workers)); });
  return *Wait(promise->get_future());
}

std::vector<Fact> Play::Facts(const std::string& id) {
  auto facts = rows_->facts.Load((*rows_->jobs.Find(id))->key);
  REQUIRE(facts.ok());
  return *facts;
}

RefusedReports Play::Refused() {
  RefusedReports refused;
  REQUIRE(Inside([&](Engine& engine) { refused = engine.refused(); }).ok());
  return refused;
}

void Play::CheckStored() {
  std::string wrong;
  REQUIRE(Inside([&](Engine& engine) {
            engine.jobs().Flush();  // a search model's answer may be in this batch, whose end writes its rows
            for (const auto& [key, job] : engine.jobs().all()) {
              JobState loaded(job->state.spec());
              for (const Fact& fact : Get(engine.context().store.facts.Load(key))) loaded.Apply(fact);
              if (!(loaded == job->state)) wrong += job->row.id + ": the loaded state differs; ";
              for (const TrialState& trial : job->state.trials()) {
                auto row = engine.context().store.trials.Find(key, trial.number);
                if (!row.ok() || !*row || !(**row == MakeTrialRow(trial))) {
                  wrong += fmt::format("{}: the row of trial {} differs; ", job->row.id, trial.number);
                }
              }
            }
          }).ok());
  CHECK(wrong == "");
}

FakeWorker::FakeWorker(Play& play, const std::string& name, int32_t slots, const std::string& storage)
    : objective(DefaultObjective), play_(play), name_(name), slots_(slots), storage_(storage) {
  StartAnew();
}

void FakeWorker::StartAnew() {
  running.clear();
  id_ = fmt::format("{:-<16.16}{:016d}", name_, ++generation_);
}

v1::SyncRequest FakeWorker::Request() const {
  v1::SyncRequest request;
  request.set_worker_id(id_);
  request.set_name(name_);
  request.set_host("localhost");
  request.set_slots(slots_);
  request.set_storage_id(storage_);
  request.set_ahead(ahead);
  request.set_leaving(leaving);
  request.mutable_labels()->insert(labels.begin(), labels.end());
  request.set_cost_per_hour(cost_per_hour);
  request.set_loopback_of(loopback_of);
  request.set_encrypts_ranks(true);
  if (remaining_us) *request.mutable_remaining_life() = TimeUtil::MicrosecondsToDuration(*remaining_us);
  for (const std::string& id : gpus) {
    v1::Gpu& gpu = *request.add_gpus();
    gpu.set_id(id);
    if (faults.contains(id)) gpu.set_fault(faults.at(id));
  }
  for (const auto& [id, run] : running) {
    *request.add_running() = run.state;
    for (const v1::Report& report : run.unsent) *request.add_reports() = report;
  }
  return request;
}

void FakeWorker::Train() {
  for (auto& [id, run] : running) {
    const bool prepared = run.state.state() == v1::RunningAssignment::PREPARED;
    if (run.state.state() != v1::RunningAssignment::RUNNING && !(prepared && leaving)) continue;
    const v1::Assignment& assignment = run.assignment;
    auto end = [&, &state = run.state](v1::Outcome::Kind kind, const std::string& reason) {
      state.set_state(v1::RunningAssignment::ENDED);
      state.mutable_outcome()->set_kind(kind);
      state.mutable_outcome()->set_reason(reason);
      int64_t now = play_.time.now_us;
      v1::Outcome& outcome = *state.mutable_outcome();
      *outcome.mutable_start_time() =
          TimeUtil::MicrosecondsToTimestamp(now / 1'000'000 * 1'000'000 - part_us);
      *outcome.mutable_end_time() = TimeUtil::MicrosecondsToTimestamp(now / 1'000'000 * 1'000'000);
      if (tells_true_times) {
        *outcome.mutable_start_time() = TimeUtil::MicrosecondsToTimestamp(run.start_us);
        *outcome.mutable_end_time() = TimeUtil::MicrosecondsToTimestamp(now);
      }
    };
    if (leaving) {
      end(v1::Outcome::HANDED_BACK, "the worker leaves");
      continue;
    }
    ++run.reached;
    auto fails = fails_at.find(assignment.trial());
    if (fails != fails_at.end() && fails->second == run.reached) {
      end(v1::Outcome::FAILED, "exit code 3: out of luck");
      continue;
    }
    if (assignment.rank() == 0) {
      v1::Report& report = run.unsent.emplace_back();
      report.set_assignment_id(id);
      report.set_resource(run.reached);
      v1::MetricValue* loss = report.add_metrics();
      loss->set_name("loss");
      loss->set_value(objective(assignment.trial(), run.reached));
      v1::MetricValue* other = report.add_metrics();
      other->set_name("seconds");
      other->set_value(seconds(assignment.trial()));
    }
    if (run.reached == assignment.resource_to()) end(v1::Outcome::FINISHED, "");
  }
}

void FakeWorker::Act(const v1::SyncResponse& response) {
  std::map<std::string, const v1::Assignment*> wanted;
  for (const v1::Assignment& assignment : response.assignments()) wanted[assignment.id()] = &assignment;
  for (auto it = running.begin(); it != running.end();) {
    it->second.unsent.clear();
    if (wanted.count(it->first) != 0) {
      ++it;
    } else if (it->second.state.state() != v1::RunningAssignment::ENDED) {
      it->second.state.set_state(v1::RunningAssignment::ENDED);  // told to stop: it is gone by the next Sync
      it->second.state.mutable_outcome()->set_kind(v1::Outcome::STOPPED);
      ++it;
    } else {
      it = running.erase(it);
    }
  }
  for (const auto& [id, assignment] : wanted) {
    auto [entry, fresh] = running.try_emplace(id);
    if (entry->second.state.state() == v1::RunningAssignment::PREPARED && !assignment->await_start()) {
      entry->second.assignment = *assignment;
      entry->second.state.set_state(v1::RunningAssignment::RUNNING);
    }
    if (!fresh) continue;
    entry->second.assignment = *assignment;
    entry->second.start_us = play_.time.now_us;
    entry->second.reached = assignment->resumes() ? assignment->resource_from() : 0;
    entry->second.state.set_assignment_id(id);
    entry->second.state.set_state(assignment->await_start() ? v1::RunningAssignment::PREPARED
                                                            : v1::RunningAssignment::RUNNING);
    if (assignment->await_start() && assignment->rank() == 0) entry->second.state.set_rendezvous_port(29500);
  }
}

absl::Status FakeWorker::Tell() {
  auto answer = play_.Sync(Request());
  if (answer.ok()) Act(*answer);
  return answer.status();
}

absl::Status FakeWorker::Step() {
  Train();
  return Tell();
}

v1::TuningJob PlayToEnd(Play& play, const std::string& id, std::vector<FakeWorker*> workers,
                        const std::function<void(int)>& between) {
  for (int step = 0; step < 2000; ++step) {
    for (FakeWorker* worker : workers) REQUIRE(worker->Step().ok());
    play.time.now_us += 100'000;
    if (step % 7 == 0) play.CheckStored();
    if (between) between(step);
    v1::TuningJob job = play.Describe(id);
    if (job.state() >= v1::TuningJob::COMPLETED) return job;
  }
  FAIL("the job did not end: " << play.Describe(id).ShortDebugString());
  return {};
}

v1::TuningJobSpec RandomJob(int64_t trials, int64_t levels) {
  v1::TuningJobSpec spec;
  spec.set_name("job");
  spec.mutable_trainer()->add_command("/bin/true");
  for (const char* name : {"loss", "seconds"}) {
    v1::MetricDefinition* metric = spec.mutable_trainer()->add_metrics();
    metric->set_name(name);
    metric->set_regex(std::string(name) + "=([0-9.e+-]+)");
  }
  v1::ParameterSpec* x = spec.add_parameters();
  x->set_name("x");
  x->mutable_continuous()->set_max(1);
  spec.mutable_objective()->set_metric("loss");
  spec.mutable_objective()->set_goal(v1::MINIMIZE);
  spec.set_strategy(v1::RANDOM);
  spec.mutable_limits()->set_max_trials(trials);
  spec.mutable_limits()->set_max_trial_resource(levels);
  spec.set_working_directory("/");
  return spec;
}

v1::TuningJobSpec HyperbandJob(int64_t max_resource) {
  v1::TuningJobSpec spec = RandomJob(0);
  spec.set_strategy(v1::HYPERBAND);
  spec.mutable_hyperband()->set_max_resource(max_resource);
  spec.mutable_limits()->clear_max_trials();
  spec.mutable_limits()->clear_max_trial_resource();
  return spec;
}

}  // namespace winnow
