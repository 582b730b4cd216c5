// Changes of a job that runs: who may make them, what they do, and how they are told.

#include "tests/server/grpc/token_play.h"
#include "winnow/v1/tuning.grpc.pb.h"

namespace winnow {
namespace {

using ChangeStub = v1::TuningService::Stub;

struct ChangePlay : TokenPlay {
  // Clients have to connect anew.
  void RestartServer() {
    server = nullptr;
    Restart();
    StartServer();
  }
  // Submits a job whose trials clients train; its id.
  static std::string Submit(ChangeStub& stub, int64_t trials) {
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = RandomJob(trials, 9);
    request.mutable_spec()->mutable_trainer()->Clear();
    request.mutable_spec()->mutable_trainer()->set_external(true);
    v1::TuningJob job;
    const grpc::Status status = Do(stub, &ChangeStub::CreateTuningJob, request, job);
    INFO(status.error_message());
    REQUIRE(status.ok());
    return job.id();
  }
  static std::vector<v1::SuggestedTrial> AskFor(ChangeStub& stub, const std::string& job, int count) {
    v1::SuggestTrialsRequest request;
    request.set_job_id(job);
    request.set_count(count);
    v1::SuggestTrialsResponse response;
    REQUIRE(Do(stub, &ChangeStub::SuggestTrials, request, response).ok());
    return {response.trials().begin(), response.trials().end()};
  }
  // Trains all trials that the job still gives.
  static void TrainAll(ChangeStub& stub, const std::string& job) {
    for (std::vector<v1::SuggestedTrial> trials = AskFor(stub, job, 9); !trials.empty();
         trials = AskFor(stub, job, 9)) {
      for (const v1::SuggestedTrial& trial : trials) {
        v1::CompleteTrialRequest request;
        request.set_job_id(job);
        request.set_trial(trial.trial());
        request.set_attempt(trial.attempt());
        v1::ReportedPoint& point = *request.add_points();
        point.set_metric("loss");
        point.set_resource(9);
        point.set_value(0.5);
        v1::CompleteTrialResponse response;
        const grpc::Status status = Do(stub, &ChangeStub::CompleteTrial, request, response);
        INFO(status.error_message());
        REQUIRE(status.ok());
      }
    }
  }
  static grpc::Status Change(ChangeStub& stub, const std::string& id,
                             const std::function<void(v1::ChangeTuningJobRequest&)>& fill,
                             v1::TuningJob* job = nullptr) {
    v1::ChangeTuningJobRequest request;
    request.set_id(id);
    fill(request);
    v1::TuningJob changed;
    const grpc::Status status = Do(stub, &ChangeStub::ChangeTuningJob, request, changed);
    if (job != nullptr) *job = changed;
    return status;
  }
};

TEST_CASE("Change: a job is paused, resumed and limited by its owner, and says who and why", "[server]") {
  ChangePlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana"), ben = play.Client(v1::SUBMITTER, "ben");
  const std::string id = play.Submit(*ana, 4);
  const auto pause = [](v1::ChangeTuningJobRequest& request) {
    request.set_pause(true);
    request.set_reason("a check");
  };
  CHECK(play.Change(*ben, id, pause).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  v1::TuningJob job;
  REQUIRE(play.Change(*ana, id, pause, &job).ok());
  CHECK(job.paused());
  CHECK(job.state() == v1::TuningJob::RUNNING);
  CHECK(job.state_reason() == "paused by ana");
  REQUIRE(job.changes_size() == 1);
  CHECK(job.changes(0).text() == "The job is paused by ana: a check. Nothing starts until it is resumed.");
  CHECK(play.AskFor(*ana, id, 4).empty());
  const grpc::Status again = play.Change(*ana, id, pause);
  CHECK(again.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK_THAT(again.error_message(), Catch::Contains("paused already"));
  REQUIRE(play.Change(
                  *ana, id, [](auto& request) { request.mutable_limits()->set_max_trials(6); }, &job)
              .ok());
  CHECK(job.limits().max_trials() == 6);
  CHECK(job.planned_trials() == 6);
  CHECK(job.spec().limits().max_trials() == 4);
  REQUIRE(play.Change(
                  *ana, id, [](auto& request) { request.set_resume(true); }, &job)
              .ok());
  CHECK_FALSE(job.paused());
  CHECK(job.state_reason() == "Waiting for a client to ask for a trial.");
  CHECK(play.AskFor(*ana, id, 9).size() == 6);
  play.CheckStored();
  play.RestartServer();
  CHECK(play.Describe(id).changes_size() == 3);
}

TEST_CASE("Change: a call that is sent again changes nothing again, and succeeds", "[server]") {
  ChangePlay play;
  auto ana = play.Client(v1::SUBMITTER, "ana");
  const std::string id = play.Submit(*ana, 1), other = play.Submit(*ana, 1);
  const auto change = [](const std::string& request_id, auto&& fill) {
    return [request_id, fill](v1::ChangeTuningJobRequest& request) {
      request.set_request_id(request_id);
      fill(request);
    };
  };
  const auto pause = [](auto& request) { request.set_pause(true); };
  const auto resume = [](auto& request) { request.set_resume(true); };
  v1::TuningJob job;
  REQUIRE(play.Change(*ana, id, change("a", pause)).ok());
  REQUIRE(play.Change(*ana, id, change("a", pause), &job).ok());
  CHECK(job.paused());
  CHECK(job.changes_size() == 1);
  CHECK(play.Change(*ana, id, change("b", pause)).error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(play.Change(*ana, id, pause).error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  REQUIRE(play.Change(*ana, id, change("c", resume)).ok());
  REQUIRE(play.Change(*ana, other, change("a", pause), &job).ok());  // ids of another job
  CHECK(job.paused());
  play.CheckStored();
  play.RestartServer();
  ana = play.Client(v1::SUBMITTER, "ana-again");
  const auto admin = play.Client(v1::ADMIN, "admin");
  REQUIRE(play.Change(*admin, id, change("a", pause), &job).ok());
  CHECK_FALSE(job.paused());
  CHECK(job.changes_size() == 2);
  CHECK(play.Change(*ana, id, change("a", pause)).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  // One that has ended is continued once, and what was changed before is known of it too.
  play.TrainAll(*admin, id);
  const auto go_on = change("d", [](auto& request) { request.mutable_continue_with()->set_max_trials(2); });
  REQUIRE(play.Change(*admin, id, go_on).ok());
  play.TrainAll(*admin, id);
  REQUIRE(play.Change(*admin, id, go_on, &job).ok());
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  REQUIRE(play.Change(*admin, id, change("c", resume)).ok());
  const grpc::Status wrong = play.Change(*admin, id, change(std::string(129, 'x'), pause));
  CHECK(wrong.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(wrong.error_message() == "request_id: has 129 characters; expected at most 128");
}

TEST_CASE("Change: a trial is stopped, and a configuration enqueued", "[server]") {
  ChangePlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana");
  const std::string id = play.Submit(*ana, 3);
  const auto first = play.AskFor(*ana, id, 1);
  REQUIRE(first.size() == 1);
  v1::TuningJob job;
  REQUIRE(play.Change(
                  *ana, id, [](auto& request) { request.set_stop_trial(1); }, &job)
              .ok());
  CHECK(job.trial_counts().pruned() == 1);
  const grpc::Status twice = play.Change(*ana, id, [](auto& request) { request.set_stop_trial(1); });
  CHECK(twice.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK_THAT(twice.error_message(), Catch::Contains("has already ended"));

  const auto enqueue = [](const char* name, const char* value) {
    return [name, value](v1::ChangeTuningJobRequest& request) {
      (*request.mutable_enqueue()->mutable_hyperparameters())[name] = value;
    };
  };
  const grpc::Status beyond = play.Change(*ana, id, enqueue("x", "1e9"));
  CHECK(beyond.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(beyond.error_message(), Catch::Contains("enqueue.hyperparameters.x"));
  REQUIRE(play.Change(*ana, id, enqueue("x", "0.5"), &job).ok());
  CHECK(job.queued_configurations() == 1);
  const auto second = play.AskFor(*ana, id, 1);
  REQUIRE(second.size() == 1);
  CHECK(play.Trials(id)[1].hyperparameters(0).continuous() == 0.5);
  CHECK(play.Describe(id).queued_configurations() == 0);
  play.CheckStored();
}

TEST_CASE("Change: a trial is kept from being pruned, and says by whom until it is released", "[server]") {
  ChangePlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana"), ben = play.Client(v1::SUBMITTER, "ben");
  const std::string id = play.Submit(*ana, 3);
  REQUIRE(play.AskFor(*ana, id, 2).size() == 2);
  const auto keep = [](v1::ChangeTuningJobRequest& request) {
    request.set_keep_trial(2);
    request.set_reason("it starts slowly");
  };
  CHECK(play.Change(*ben, id, keep).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  v1::TuningJob job;
  REQUIRE(play.Change(*ana, id, keep, &job).ok());
  CHECK(job.changes(0).text() == "Trial 2 is kept from being pruned by ana: it starts slowly.");
  const auto kept = [&](int64_t trial) { return play.Trials(id)[static_cast<size_t>(trial - 1)].kept(); };
  CHECK(kept(1).empty());
  CHECK(kept(2) == "Kept by ana: it starts slowly.");
  CHECK_THAT(play.Change(*ana, id, keep).error_message(), Catch::Contains("kept already"));
  play.RestartServer();
  CHECK(kept(2) == "Kept by ana: it starts slowly.");
  const auto again = play.Client(v1::SUBMITTER, "ana");
  REQUIRE(play.Change(*again, id, [](auto& request) { request.set_release_trial(2); }).ok());
  CHECK(kept(2).empty());
  const grpc::Status none = play.Change(*again, id, [](auto& request) { request.set_release_trial(2); });
  CHECK_THAT(none.error_message(), Catch::Contains("is not kept"));
  const grpc::Status unknown = play.Change(*again, id, [](auto& request) { request.set_keep_trial(9); });
  CHECK_THAT(unknown.error_message(), Catch::Contains("there is no trial 9"));
  play.CheckStored();
}

TEST_CASE("Change: a job that ended is continued, also after a restart of the server", "[server]") {
  ChangePlay play;
  auto ana = play.Client(v1::SUBMITTER, "ana");
  const std::string id = play.Submit(*ana, 2);
  play.TrainAll(*ana, id);
  play.RestartServer();
  ana = play.Client(v1::SUBMITTER, "ana");
  const auto ben = play.Client(v1::SUBMITTER, "ben");
  CHECK(play.Describe(id).state() == v1::TuningJob::COMPLETED);
  const auto more = [](int64_t trials) {
    return [trials](v1::ChangeTuningJobRequest& r) { r.mutable_continue_with()->set_max_trials(trials); };
  };
  CHECK(play.Change(*ben, id, more(4)).error_code() == grpc::StatusCode::PERMISSION_DENIED);
  const grpc::Status higher = play.Change(*ana, id, [](auto& r) { r.mutable_limits()->set_max_trials(4); });
  CHECK(higher.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK_THAT(higher.error_message(), Catch::Contains("has ended") && Catch::Contains("winnow continue"));
  for (const auto& [trials, says] : std::vector<std::pair<int64_t, const char*>>{
           {2, "continue_with: leaves nothing to train"},
           {1, "continue_with.max_trials: is 1; expected 0 (none) or at least 2"}}) {
    const grpc::Status refused = play.Change(*ana, id, more(trials));
    CHECK(refused.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    CHECK_THAT(refused.error_message(), Catch::Contains(says));
  }
  play.time.now_us += 100'000'000;
  const grpc::Status late = play.Change(*ana, id, [](auto& r) {
    r.mutable_continue_with()->set_max_trials(4);
    r.mutable_continue_with()->set_max_wall_seconds(60);
  });
  CHECK_THAT(late.error_message(),
             Catch::Contains("continue_with.max_wall_seconds: is 60; expected 0 (none) or more than 100"));
  CHECK(play.Describe(id).state() == v1::TuningJob::COMPLETED);

  v1::TuningJob job;
  REQUIRE(play.Change(*ana, id, more(4), &job).ok());
  CHECK(job.state() == v1::TuningJob::RUNNING);
  CHECK_FALSE(job.has_end_time());
  CHECK(job.trial_counts().completed() == 2);
  CHECK(play.Change(*ana, id, more(6)).error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  play.RestartServer();
  ana = play.Client(v1::SUBMITTER, "ana");
  CHECK(play.Describe(id).state() == v1::TuningJob::RUNNING);
  play.TrainAll(*ana, id);
  job = play.Describe(id);
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.trial_counts().completed() == 4);
  CHECK(job.changes_size() == 2);
  CHECK(job.changes(0).text() == "The job is continued by ana.");
  play.CheckStored();
}

TEST_CASE("Change: a range is narrowed and widened, and what is tried lies in it", "[server]") {
  ChangePlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana");
  const std::string id = play.Submit(*ana, 40);
  const std::string name = play.Describe(id).spec().parameters(0).name();
  const auto range = [&](const char* min, const char* max, v1::TuningJob* job) {
    return play.Change(
        *ana, id,
        [&](v1::ChangeTuningJobRequest& request) {
          request.mutable_range()->set_parameter(name);
          request.mutable_range()->set_min(min);
          request.mutable_range()->set_max(max);
          request.set_reason("look there");
        },
        job);
  };
  const auto check_between = [&](double min, double max) {
    for (const v1::SuggestedTrial& trial : play.AskFor(*ana, id, 9)) {
      CHECK(trial.hyperparameters(0).continuous() >= min);
      CHECK(trial.hyperparameters(0).continuous() <= max);
    }
  };
  check_between(0, 1);
  v1::TuningJob job;
  REQUIRE(range("0.25", "0.5", &job).ok());
  CHECK(job.changes(0).text() == "The range of " + name + " is now 0.25 to 0.5: changed by ana: look there.");
  REQUIRE(job.parameters_size() == job.spec().parameters_size());
  CHECK(job.parameters(0).continuous().min() == 0.25);
  CHECK(job.spec().parameters(0).continuous().min() == 0);
  check_between(0.25, 0.5);
  REQUIRE(range("2", "3", &job).ok());
  check_between(2, 3);
  play.CheckStored();
  // What was decided before a change is verified as it was then.
  v1::ReplayTuningJobRequest replay;
  replay.set_id(id);
  v1::ReplayTuningJobResponse replayed;
  REQUIRE(ChangePlay::Do(*ana, &ChangeStub::ReplayTuningJob, replay, replayed).ok());
  CHECK(replayed.expected() == "");
  CHECK(replayed.mismatch() == 0);
  play.RestartServer();
  CHECK(play.Describe(id).parameters(0).continuous().max() == 3);
}

TEST_CASE("Change: what is wrong with a request is said by its field", "[server]") {
  ChangePlay play;
  const auto ana = play.Client(v1::SUBMITTER, "ana");
  const std::string id = play.Submit(*ana, 3);
  REQUIRE(play.AskFor(*ana, id, 2).size() == 2);
  struct Case {
    std::function<void(v1::ChangeTuningJobRequest&)> fill;
    const char* says;
  };
  const Case cases[] = {
      {[](auto&) {}, "change: is missing; expected pause"},
      {[](auto& r) { r.set_pause(false); }, "pause: is false"},
      {[](auto& r) { r.set_pause(true), r.set_reason("two\nlines"); }, "reason: contains a line break"},
      {[](auto& r) { r.mutable_limits()->set_max_trials(1); },
       "limits.max_trials: is 1; expected 0 (none) or at least 2"},
      {[](auto& r) { r.mutable_limits()->set_max_trials(3); }, "limits: change nothing"},
      {[](auto& r) { r.mutable_limits()->set_max_wall_seconds(-1); }, "limits.max_wall_seconds: is -1"},
      {[](auto& r) { r.mutable_scheduling()->set_priority(1); },
       "scheduling: is given; expected none with an external trainer"},
      {[](auto& r) { r.mutable_range()->set_parameter("y"); },
       "range.parameter: is \"y\"; expected one of x"},
      {[](auto& r) { r.mutable_range()->set_parameter("x"); }, "range: changes nothing"},
      {[](auto& r) { r.mutable_range()->set_parameter("x"), r.mutable_range()->set_min("low"); },
       "range.min: is \"low\"; expected a number"},
      {[](auto& r) { r.mutable_range()->set_parameter("x"), r.mutable_range()->set_min("7"); },
       "range.min: is 7; expected at most the max, 1"},
      {[](auto& r) { r.mutable_range()->set_parameter("x"), r.mutable_range()->add_add("7"); },
       "range.add: is given, and x has a min and a max"},
  };
  for (const Case& c : cases) {
    const grpc::Status status = play.Change(*ana, id, c.fill);
    INFO(status.error_message());
    CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
    CHECK_THAT(status.error_message(), Catch::Contains(c.says));
  }
  CHECK(play.Describe(id).changes().empty());
  REQUIRE(play.Change(*ana, id, [](auto& r) { r.mutable_limits()->set_max_trials(2); }).ok());
  REQUIRE(play.Stop(id).ok());
  const grpc::Status late = play.Change(*ana, id, [](auto& r) { r.set_pause(true); });
  CHECK(late.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace winnow
