#include <array>
#include <chrono>
#include <map>

#include "base/mutex.h"
#include "tests/server/grpc/service_play.h"

namespace winnow {
namespace {

using Stub = v1::TuningService::Stub;

v1::TuningJobSpec ExternalJob() {
  v1::TuningJobSpec spec = RandomJob(2, 9);
  spec.mutable_trainer()->Clear();
  spec.mutable_trainer()->set_external(true);
  spec.mutable_limits()->set_max_parallel_trials(1);
  return spec;
}

void AwaitHeldAsk(ServicePlay& play) {
  for (size_t held = 0; held == 0; std::this_thread::yield()) {
    REQUIRE(play.Inside([&](Engine& engine) { held = engine.held_suggest_calls(); }).ok());
  }
}

// Waits until a call's read is queued behind the one that holds the reader's thread. Each look that finds
// none leaves an empty read of its own there. Returns how many those are.
size_t AwaitQueuedRead(ServicePlay& play) {
  size_t own = 0;
  for (; play.reader->PostWithin(own + 1, [](Reads&) {}); ++own) std::this_thread::yield();
  return own;
}

TEST_CASE("Service: ask, report and complete over the wire", "[server]") {
  ServicePlay play;
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(play.Create(ExternalJob()));
  v1::SuggestTrialsResponse asked;
  REQUIRE(play.Call(&Stub::SuggestTrials, ask, asked).ok());
  REQUIRE(asked.trials_size() == 1);
  v1::ReportMetricsRequest report;
  report.set_job_id(ask.job_id());
  report.set_trial(1);
  report.set_attempt(1);
  v1::ReportedPoint* point = report.add_points();
  point->set_resource(1);
  point->set_metric("loss");
  point->set_value(0.5);
  v1::ReportMetricsResponse reported;
  REQUIRE(play.Call(&Stub::ReportMetrics, report, reported).ok());
  CHECK_FALSE(reported.stop());
  v1::CompleteTrialRequest complete;
  complete.set_job_id(ask.job_id());
  complete.set_trial(1);
  complete.set_attempt(1);
  v1::CompleteTrialResponse completed;
  REQUIRE(play.Call(&Stub::CompleteTrial, complete, completed).ok());
  CHECK(completed.trial().objective() == 0.5);
  v1::DescribeTrialRequest describe;
  describe.set_job_id(ask.job_id());
  describe.set_trial(1);
  v1::DescribeTrialResponse trial;
  REQUIRE(play.Call(&Stub::DescribeTrial, describe, trial).ok());
  REQUIRE(trial.attempts_size() == 1);
  CHECK(trial.attempts(0).outcome() == "finished");
  CHECK(trial.attempts(0).resource_to() == 9);
  CHECK(trial.trial().choice_reason() == asked.trials(0).choice_reason());
}

void AddPoint(v1::CompleteTrialRequest& request, const std::string& metric, double value) {
  v1::ReportedPoint& point = *request.add_points();
  point.set_resource(1);
  point.set_metric(metric);
  point.set_value(value);
}

TEST_CASE("Service: of the best it is said whether it is known to satisfy the constraints", "[server]") {
  ServicePlay play;
  v1::TuningJobSpec spec = ExternalJob();
  v1::MetricConstraint& constraint = *spec.add_metric_constraints();
  constraint.set_metric("memory");
  constraint.set_at_most(8);
  const std::string id = play.Create(spec);
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(id);
  v1::SuggestTrialsResponse asked;
  REQUIRE(play.Call(&Stub::SuggestTrials, ask, asked).ok());
  const auto tell = [&](const std::string& metric, double value) {
    v1::ReportMetricsRequest told;
    told.set_job_id(id);
    told.set_trial(asked.trials(0).trial());
    told.set_attempt(1);
    v1::ReportedPoint& point = *told.add_points();
    point.set_resource(1);
    point.set_metric(metric);
    point.set_value(value);
    v1::ReportMetricsResponse response;
    REQUIRE(play.Call(&Stub::ReportMetrics, told, response).ok());
    v1::DescribeTuningJobRequest describe;
    describe.set_id(id);
    v1::TuningJob job;
    REQUIRE(play.Call(&Stub::DescribeTuningJob, describe, job).ok());
    return job;
  };
  const v1::TuningJob early = tell(spec.objective().metric(), 1);
  REQUIRE(early.best().unreported_size() == 1);
  CHECK(early.best().unreported(0) == "memory");
  const v1::TuningJob known = tell("memory", 8);
  CHECK(known.best().unreported().empty());
  // Told again it counts once. Another value is noticed.
  CHECK(tell("memory", 8).notices().empty());
  const v1::TuningJob again = tell("memory", 9);
  CHECK(again.has_best());
  REQUIRE(again.notices_size() == 1);
  CHECK(again.notices(0).kind() == v1::JobNotice::REPORTED_TWICE);
  CHECK(again.notices(0).text() ==
        "Trial 1 was told memory twice at level 1: 8, then 9. Only the first value of a level counts.");
}

TEST_CASE("Service: the Pareto front of a job with two objectives and a constraint", "[server]") {
  ServicePlay play;
  v1::TuningJobSpec spec = ExternalJob();
  spec.mutable_limits()->set_max_trials(4);
  spec.clear_objective();
  for (const auto& [metric, threshold] : {std::pair("gain", 0.0), std::pair("size", 10.0)}) {
    v1::ObjectivesEntry& objective = *spec.add_objectives();
    objective.set_metric(metric);
    objective.set_goal(threshold == 0 ? v1::MAXIMIZE : v1::MINIMIZE);
    objective.set_threshold(threshold);
  }
  v1::MetricConstraint& constraint = *spec.add_metric_constraints();
  constraint.set_metric("memory");
  constraint.set_at_most(8);
  const std::string id = play.Create(spec);
  // Gain, size and memory; the third one would dominate the others.
  const double values[][3] = {{1, 5, 1}, {2, 8, 8}, {9, 1, 9}, {0.5, 6, 1}};
  for (const auto& [gain, size, memory] : values) {
    v1::SuggestTrialsRequest ask;
    ask.set_job_id(id);
    v1::SuggestTrialsResponse asked;
    REQUIRE(play.Call(&Stub::SuggestTrials, ask, asked).ok());
    REQUIRE(asked.trials_size() == 1);
    v1::CompleteTrialRequest complete;
    complete.set_job_id(id);
    complete.set_trial(asked.trials(0).trial());
    complete.set_attempt(1);
    AddPoint(complete, "gain", gain);
    AddPoint(complete, "other", 7);
    AddPoint(complete, "size", size);
    AddPoint(complete, "memory", memory);
    v1::CompleteTrialResponse completed;
    REQUIRE(play.Call(&Stub::CompleteTrial, complete, completed).ok());
    REQUIRE(completed.trial().metrics_size() == 3);
    CHECK(completed.trial().metrics(1).metric() == "size");
    CHECK(completed.trial().metrics(1).value() == size);
    CHECK(completed.trial().violation() == (memory > 8 ? 1 : 0));
  }
  v1::GetParetoFrontRequest request;
  request.set_job_id(id);
  v1::ParetoFront front;
  REQUIRE(play.Call(&Stub::GetParetoFront, request, front).ok());
  REQUIRE(front.trials_size() == 2);
  CHECK(front.trials(0).trial().number() == 2);
  CHECK(front.trials(0).values(0) == 2);
  CHECK(front.trials(1).trial().number() == 1);
  CHECK(front.trials(1).own_hypervolume() == 3);
  CHECK(front.hypervolume() == 7);
  CHECK(front.objectives(1).reference() == 10);
  CHECK(front.infeasible_trials() == 1);
  REQUIRE(front.history_size() == 2);
  CHECK(front.history(0).hypervolume() == 5);
  CHECK(front.history(1).trial() == 2);

  v1::DescribeTuningJobRequest describe;
  describe.set_id(id);
  v1::TuningJob job;
  REQUIRE(play.Call(&Stub::DescribeTuningJob, describe, job).ok());
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK_FALSE(job.has_best());
  CHECK(job.front_trials() == 2);
  v1::DescribeTrialRequest trial;
  trial.set_job_id(id);
  trial.set_trial(3);
  v1::DescribeTrialResponse described;
  REQUIRE(play.Call(&Stub::DescribeTrial, trial, described).ok());
  const auto tells = [&](const std::string& text) {
    return std::any_of(described.events().begin(), described.events().end(),
                       [&](const v1::TuningJobEvent& event) { return event.text() == text; });
  };
  CHECK(tells("Trial 3 reported memory = 9 at resource 1."));
  CHECK(tells("Trial 3 reported gain = 9 at resource 1."));
  v1::ReplayTuningJobRequest replay;
  replay.set_id(id);
  v1::ReplayTuningJobResponse replayed;
  REQUIRE(play.Call(&Stub::ReplayTuningJob, replay, replayed).ok());
  CHECK(replayed.mismatch() == 0);
  CHECK(replayed.decisions() > 0);
}

TEST_CASE("Service: a job with one objective has no Pareto front", "[server]") {
  ServicePlay play;
  v1::GetParetoFrontRequest request;
  request.set_job_id(play.Create(ExternalJob()));
  v1::ParetoFront front;
  const grpc::Status status = play.Call(&Stub::GetParetoFront, request, front);
  CHECK(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK_THAT(status.error_message(), Catch::Contains("has one objective, loss"));
}

TEST_CASE("Service: a client that hangs up while it waits is forgotten", "[server]") {
  ServicePlay play;
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(play.Create(ExternalJob()));
  v1::SuggestTrialsResponse first, second;
  REQUIRE(play.Call(&Stub::SuggestTrials, ask, first).ok());
  ask.mutable_wait()->set_seconds(60);
  grpc::ClientContext context;
  std::promise<grpc::Status> ended;
  std::thread caller([&] {
    v1::SuggestTrialsResponse none;
    ended.set_value(play.tuning->SuggestTrials(&context, ask, &none));
  });
  AwaitHeldAsk(play);
  context.TryCancel();
  CHECK(ended.get_future().get().error_code() == grpc::StatusCode::CANCELLED);
  caller.join();
  for (size_t held = 1; held > 0; std::this_thread::yield()) {
    REQUIRE(play.Inside([&](Engine& engine) { held = engine.held_suggest_calls(); }).ok());
  }
  v1::CompleteTrialRequest complete;
  complete.set_job_id(ask.job_id());
  complete.set_trial(1);
  complete.set_attempt(1);
  complete.set_failed(true);
  v1::CompleteTrialResponse completed;
  REQUIRE(play.Call(&Stub::CompleteTrial, complete, completed).ok());
  REQUIRE(play.Call(&Stub::SuggestTrials, ask, second).ok());
  CHECK(second.trials(0).trial() == 2);
}

TEST_CASE("Service: a call that waits for a trial is refused when the server stops", "[server]") {
  ServicePlay play;
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(play.Create(ExternalJob()));
  v1::SuggestTrialsResponse first;
  REQUIRE(play.Call(&Stub::SuggestTrials, ask, first).ok());
  ask.mutable_wait()->set_seconds(60);
  std::promise<grpc::Status> ended;
  std::thread caller([&] {
    v1::SuggestTrialsResponse none;
    grpc::ClientContext context;
    ended.set_value(play.tuning->SuggestTrials(&context, ask, &none));
  });
  AwaitHeldAsk(play);
  play.server->Stop(std::chrono::seconds(30));
  CHECK(ended.get_future().get().error_code() == grpc::StatusCode::UNAVAILABLE);
  caller.join();
}

TEST_CASE("Service: a job is decided again from its record", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 3);
  worker.fails_at = {{2, 1}};
  v1::ReplayTuningJobRequest request;
  request.set_id(play.Create(HyperbandJob(9)));
  v1::TuningJob job = PlayToEnd(play, request.id(), {&worker});
  v1::ReplayTuningJobResponse replayed;
  REQUIRE(play.Call(&Stub::ReplayTuningJob, request, replayed).ok());
  CHECK(replayed.facts() == job.last_sequence());
  CHECK(replayed.decisions() > 17 * 3);  // created, started and ended, each of 17 trials
  CHECK(replayed.decisions() < replayed.facts());
  INFO(replayed.recorded() << " | " << replayed.expected());
  CHECK(replayed.mismatch() == 0);
  request.set_id("nobody");
  CHECK(play.Call(&Stub::ReplayTuningJob, request, replayed).error_code() == grpc::StatusCode::NOT_FOUND);
}

// Keeps the reader's thread busy until it is let go.
class HeldReader {
 public:
  explicit HeldReader(ServicePlay& play) {
    std::promise<void> held;
    play.reader->Post([&held, open = gate_.get_future().share()](Reads&) {
      held.set_value();
      open.wait();
    });
    held.get_future().wait();
  }
  void LetGo() { gate_.set_value(); }

 private:
  std::promise<void> gate_;
};

TEST_CASE("Service: a replay that waits is refused when the server stops", "[server]") {
  ServicePlay play;
  v1::ReplayTuningJobRequest request;
  request.set_id(play.Create(RandomJob(1)));
  HeldReader held(play);
  std::promise<grpc::Status> ended;
  std::thread caller([&] {
    v1::ReplayTuningJobResponse none;
    ended.set_value(play.Call(&Stub::ReplayTuningJob, request, none));
  });
  AwaitQueuedRead(play);
  play.server->Stop(std::chrono::seconds(30));
  CHECK(ended.get_future().get().error_code() == grpc::StatusCode::UNAVAILABLE);
  caller.join();
  held.LetGo();
}

TEST_CASE("Service: of many replays at a time few wait, and none is read before its turn", "[server]") {
  ServicePlay play;
  v1::ReplayTuningJobRequest request;
  request.set_id(play.Create(RandomJob(1)));
  HeldReader held(play);
  struct Call {
    grpc::ClientContext context;
    v1::ReplayTuningJobResponse response;
  };
  std::array<Call, 18> calls;
  Mutex mutex;
  CondVar changed;
  std::map<grpc::StatusCode, int> ends;
  const auto start = [&](Call& call) {
    play.tuning->async()->ReplayTuningJob(&call.context, &request, &call.response, [&](grpc::Status status) {
      MutexLock lock(mutex);
      ++ends[status.error_code()];
      changed.NotifyAll();
    });
  };
  const auto await = [&](grpc::StatusCode code, int count) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    MutexLock lock(mutex);
    while (ends[code] < count && changed.WaitUntil(mutex, until)) {
    }
    CHECK(ends[code] == count);
  };
  start(calls[0]);
  const size_t own = AwaitQueuedRead(play);  // the first runs: it waits for its record
  for (size_t i = 1; i < calls.size(); ++i) start(calls[i]);
  await(grpc::StatusCode::RESOURCE_EXHAUSTED, 1);
  CHECK(play.reader->PostWithin(own + 2, [](Reads&) {}));  // its read is the only one
  calls[0].context.TryCancel();
  await(grpc::StatusCode::CANCELLED, 1);
  held.LetGo();
  await(grpc::StatusCode::OK, 16);
}

TEST_CASE("Service: a record that was tampered with does not verify", "[server]") {
  ServicePlay play;
  FakeWorker worker(play, "one", 1);
  v1::ReplayTuningJobRequest request;
  request.set_id(play.Create(RandomJob(2, 2)));
  PlayToEnd(play, request.id(), {&worker});
  REQUIRE(play.Inside([](Engine& engine) {
                CHECK(engine.context()
                          .store.database()
                          .Execute("UPDATE events SET detail = replace(detail, '\"to\":2', '\"to\":3')"
                                   " WHERE kind = 'trial_created' AND trial = 2")
                          .ok());
              })
              .ok());
  v1::ReplayTuningJobResponse replayed;
  REQUIRE(play.Call(&Stub::ReplayTuningJob, request, replayed).ok());
  CHECK(replayed.mismatch() > 1);
  CHECK_THAT(replayed.recorded(), Catch::Contains("trial 2") && Catch::Contains("to 3"));
  CHECK_THAT(replayed.expected(), Catch::Contains("trial 2") && Catch::Contains("to 2"));
}

}  // namespace
}  // namespace winnow
