#include "server/engine/suggest_calls.h"

#include <cmath>
#include <limits>

#include "scheduler/replay.h"
#include "spec/search_spec.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

// A job whose trainer is the test.
v1::TuningJobSpec ExternalJob(v1::TuningJobSpec spec) {
  spec.mutable_trainer()->Clear();
  spec.mutable_trainer()->set_external(true);
  spec.mutable_trainer()->mutable_lease()->set_seconds(30);
  return spec;
}

v1::SuggestTrialsRequest Asking(const std::string& job, int count = 1, int64_t wait_seconds = 0) {
  v1::SuggestTrialsRequest request;
  request.set_job_id(job);
  request.set_client("me");
  request.set_count(count);
  request.mutable_wait()->set_seconds(wait_seconds);
  return request;
}

v1::ReportMetricsRequest Telling(const std::string& job, const v1::SuggestedTrial& trial, int64_t resource,
                                 double loss) {
  v1::ReportMetricsRequest request;
  request.set_job_id(job);
  request.set_trial(trial.trial());
  request.set_attempt(trial.attempt());
  v1::ReportedPoint* point = request.add_points();
  point->set_resource(resource);
  point->set_metric("loss");
  point->set_value(loss);
  return request;
}

v1::CompleteTrialRequest Completing(const std::string& job, const v1::SuggestedTrial& trial,
                                    std::vector<double> losses = {}) {
  v1::CompleteTrialRequest request;
  request.set_job_id(job);
  request.set_trial(trial.trial());
  request.set_attempt(trial.attempt());
  for (size_t i = 0; i < losses.size(); ++i) {
    v1::ReportedPoint* point = request.add_points();
    point->set_resource(static_cast<int64_t>(i) + 1);
    point->set_metric("loss");
    point->set_value(losses[i]);
  }
  return request;
}

v1::SuggestedTrial AskOne(Play& play, const std::string& id) {
  auto answer = play.Ask(Asking(id));
  INFO(answer.status().ToString());
  REQUIRE(answer.ok());
  REQUIRE(answer->trials_size() == 1);
  return answer->trials(0);
}

double Loss(const v1::SuggestedTrial& trial, int64_t level) {
  return std::abs(trial.hyperparameters(0).continuous() - 0.3) + 1.0 / static_cast<double>(level);
}

// Trains what is suggested, one after the other, until there is nothing more.
v1::TuningJob TrainAll(Play& play, const std::string& id) {
  while (true) {
    auto answer = play.Ask(Asking(id));
    REQUIRE(answer.ok());
    if (answer->trials().empty()) return play.Describe(id);
    const v1::SuggestedTrial& trial = answer->trials(0);
    bool stopped = false;
    for (int64_t level = trial.resource_from() + 1; level <= trial.resource_to() && !stopped; ++level) {
      auto told = play.Report(Telling(id, trial, level, Loss(trial, level)));
      REQUIRE(told.ok());
      stopped = told->stop();
    }
    if (!stopped) REQUIRE(play.Complete(Completing(id, trial)).ok());
    play.time.now_us += 1'000'000;
    play.CheckStored();
  }
}

TEST_CASE("Asks: a client trains a whole Hyperband job, and its record verifies", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 4);
  v1::TuningJobSpec spec = ExternalJob(HyperbandJob(9));
  std::string id = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  CHECK(worker.running.empty());  // it is the client's to train
  CHECK(play.Describe(id).state_reason() == "Waiting for a client to ask for a trial.");
  v1::TuningJob job = TrainAll(play, id);
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.spend().resource() == job.planned_resource());
  CHECK(job.spend().training_seconds() == 0);  // the clock stood still while it trained
  CHECK(Verify(ToSearchSpec(spec), play.Facts(id)).ok());
  CHECK(play.Ask(Asking(id))->job_state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Asks: who asks for many trials that take long to find gets those that were found in time",
          "[server]") {
  Play play;
  const std::string id = play.Create(ExternalJob(RandomJob(1000, 9)));
  play.time.step_us = 10'000;
  const auto some = play.Ask(Asking(id, 1000, 60));
  REQUIRE(some.ok());
  CHECK(some->trials_size() > 1);
  CHECK(some->trials_size() < 100);
  CHECK(some->job_state() == v1::TuningJob::RUNNING);
  play.time.step_us = 0;
  CHECK(play.Ask(Asking(id, 900))->trials_size() == 900);
}

TEST_CASE("Asks: an answer says all that a client needs", "[server]") {
  Play play;
  std::string id = play.Create(ExternalJob(RandomJob(3, 9)));
  auto answer = play.Ask(Asking(id, 2));
  REQUIRE(answer->trials_size() == 2);
  CHECK(answer->lease().seconds() == 30);
  CHECK(answer->job_state() == v1::TuningJob::RUNNING);
  const v1::SuggestedTrial& second = answer->trials(1);
  CHECK(second.trial() == 2);
  CHECK(second.attempt() == 1);
  CHECK(second.hyperparameters(0).name() == "x");
  CHECK(second.resource_from() == 0);
  CHECK(second.resource_to() == 9);
  CHECK(second.seed() != answer->trials(0).seed());
  CHECK(second.choice_reason() != "");
}

TEST_CASE("Asks: a call waits for a trial, and gets it when one comes free", "[server]") {
  Play play;
  v1::TuningJobSpec spec = ExternalJob(RandomJob(2, 9));
  spec.mutable_limits()->set_max_parallel_trials(1);
  std::string id = play.Create(spec);
  v1::SuggestedTrial first = AskOne(play, id);
  CHECK(play.Ask(Asking(id))->trials().empty());
  auto held = play.StartAsk(Asking(id, 1, 20));
  auto impatient = play.StartAsk(Asking(id, 1, 10));
  play.Tick(10'000'000);
  CHECK(impatient.get()->trials().empty());
  REQUIRE(play.Complete(Completing(id, first, {0.5})).ok());
  CHECK(held.get()->trials(0).trial() == 2);
}

TEST_CASE("Asks: a client that waits for a trial learns that the job has ended", "[server]") {
  Play play;
  v1::TuningJobSpec spec = ExternalJob(RandomJob(2, 9));
  spec.mutable_limits()->set_max_parallel_trials(1);
  std::string id = play.Create(spec);
  v1::SuggestedTrial first = AskOne(play, id);
  auto held = play.StartAsk(Asking(id, 1, 60));
  REQUIRE(play.Stop(id).ok());
  CHECK(held.get()->job_state() == v1::TuningJob::STOPPING);
  auto told = play.Report(Telling(id, first, 1, 0.5));
  REQUIRE(told.ok());
  CHECK(told->stop());
  CHECK_THAT(told->reason(), Catch::Contains("stopped by request"));
  CHECK(play.Trials(id)[0].state() == v1::Trial::CANCELLED);
  CHECK(play.Describe(id).state() == v1::TuningJob::STOPPED);
  CHECK(play.Report(Telling(id, first, 1, 0.5))->stop());  // the answer may have been lost
  CHECK(play.Complete(Completing(id, first)).ok());
}

TEST_CASE("Asks: a client that waits while the job ends by its target learns that it has ended", "[server]") {
  Play play;
  v1::TuningJobSpec spec = ExternalJob(RandomJob(3, 9));
  spec.mutable_limits()->set_max_parallel_trials(2);
  spec.mutable_completion()->set_target_objective(0.6);
  const std::string id = play.Create(spec);
  const v1::SuggestedTrial first = AskOne(play, id), second = AskOne(play, id);
  auto held = play.StartAsk(Asking(id, 1, 60));
  REQUIRE(play.Report(Telling(id, first, 1, 0.5)).ok());
  auto late = play.StartAsk(Asking(id, 1, 60));
  play.Tick(1'000'000);
  REQUIRE(play.Describe(id).state() == v1::TuningJob::RUNNING);  // until the second client is heard
  CHECK(held.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  CHECK(late.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  CHECK(play.Report(Telling(id, second, 1, 0.9))->stop());
  CHECK(play.Report(Telling(id, first, 2, 0.9))->stop());
  CHECK(held.get()->job_state() == v1::TuningJob::COMPLETED);
  CHECK(late.get()->job_state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Asks: a client that goes away while it waits leaves nothing behind", "[server]") {
  Play play;
  v1::TuningJobSpec spec = ExternalJob(RandomJob(2, 9));
  spec.mutable_limits()->set_max_parallel_trials(1);
  std::string id = play.Create(spec);
  v1::SuggestedTrial first = AskOne(play, id);
  int64_t ticket = 0;
  auto held = play.StartAsk(Asking(id, 1, 60), &ticket);
  play.coordinator().CancelSuggestTrials(ticket);
  CHECK(held.get().status().code() == absl::StatusCode::kCancelled);
  REQUIRE(play.Complete(Completing(id, first, {0.5})).ok());
  CHECK(AskOne(play, id).trial() == 2);
}

TEST_CASE("Asks: a silent client loses its attempt, and what it says later counts no more", "[server]") {
  Play play;
  std::string id = play.Create(ExternalJob(RandomJob(1, 9)));
  v1::SuggestedTrial first = AskOne(play, id);
  play.Tick(29'000'000);
  v1::ReportMetricsRequest beat = Telling(id, first, 1, 0.5);
  beat.clear_points();
  REQUIRE(play.Report(beat).ok());  // renews
  play.Tick(29'000'000);
  CHECK(play.Describe(id).trial_counts().running() == 1);
  play.Tick(1'000'000);
  CHECK(play.Describe(id).trial_counts().pending() == 1);
  CHECK(play.Describe(id).spend().training_seconds() == 29);
  v1::SuggestedTrial second = AskOne(play, id);
  CHECK(second.trial() == 1);
  CHECK(second.attempt() == 2);
  CHECK(play.Report(Telling(id, first, 2, 0.4)).status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(play.Complete(Completing(id, first)).status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(play.Complete(Completing(id, second, {0.5})).ok());
}

TEST_CASE("Asks: where a part takes long to start the parts get longer, and the job says what that took",
          "[server]") {
  Play play;
  v1::TuningJobSpec spec = ExternalJob(RandomJob(12, 27));
  spec.clear_strategy();
  const auto train = [&](double start_seconds) {
    const std::string id = play.Create(spec);
    int64_t parts = 0;
    while (true) {
      auto answer = play.Ask(Asking(id, 1, 60));  // held until the model has answered
      REQUIRE(answer.ok());
      if (answer->trials().empty()) break;
      const v1::SuggestedTrial& trial = answer->trials(0);
      ++parts;
      play.Tick(static_cast<int64_t>(start_seconds * 1e6));
      for (int64_t level = trial.resource_from() + 1; level <= trial.resource_to(); ++level) {
        play.Tick(1'000'000);
        REQUIRE(play.Report(Telling(id, trial, level, Loss(trial, level))).ok());
      }
      REQUIRE(play.Complete(Completing(id, trial)).ok());
      if (parts == 10) play.Restart();
    }
    play.CheckStored();
    return std::make_pair(play.Describe(id), parts);
  };
  const auto [quick, many] = train(0.5);
  const auto [slow, few] = train(10);
  const auto units_a_part = [](const v1::TuningJob& job, int64_t parts) {
    return static_cast<double>(job.spend().resource()) / static_cast<double>(parts);
  };
  CHECK(units_a_part(slow, few) > 1.5 * units_a_part(quick, many));
  CHECK(slow.spend().startup_seconds() == Approx(10 * static_cast<double>(few)));
  CHECK(quick.spend().startup_seconds() == Approx(0.5 * static_cast<double>(many)));
}

TEST_CASE("Asks: after a restart every attempt has a whole lease, and goes on", "[server]") {
  Play play;
  std::string id = play.Create(ExternalJob(RandomJob(1, 9)));
  v1::SuggestedTrial trial = AskOne(play, id);
  play.Restart(3'600'000'000);
  play.Tick(29'000'000);
  CHECK_FALSE(play.Report(Telling(id, trial, 1, 0.5))->stop());
  play.CheckStored();
  play.Tick(29'000'000);
  CHECK(play.Complete(Completing(id, trial)).ok());
  CHECK(play.Describe(id).state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Asks: what is said twice counts once", "[server]") {
  Play play;
  std::string id = play.Create(ExternalJob(RandomJob(2, 9)));
  v1::SuggestedTrial trial = AskOne(play, id);
  REQUIRE(play.Report(Telling(id, trial, 1, 0.5)).ok());
  v1::TuningJob before = play.Describe(id);
  REQUIRE(play.Report(Telling(id, trial, 1, 0.5)).ok());
  CHECK(play.Describe(id).last_sequence() == before.last_sequence());
  for (const double other : {0.7, 0.8}) {  // another value is noticed, once
    REQUIRE(play.Report(Telling(id, trial, 1, other)).ok());
    const v1::TuningJob now = play.Describe(id);
    CHECK(now.last_sequence() == before.last_sequence() + 1);
    REQUIRE(now.notices_size() == 1);
    CHECK(now.notices(0).kind() == v1::JobNotice::REPORTED_TWICE);
    CHECK(now.best().objective() == 0.5);
  }
  REQUIRE(play.Complete(Completing(id, trial, {0.5, 0.25})).ok());
  before = play.Describe(id);
  auto again = play.Complete(Completing(id, trial, {0.5, 0.25}));
  REQUIRE(again.ok());
  CHECK(again->trial().state() == v1::Trial::COMPLETED);
  CHECK(again->trial().best_objective() == 0.25);
  CHECK(play.Describe(id).last_sequence() == before.last_sequence());
  // Not if it says something else.
  CHECK(play.Complete(Completing(id, trial, {0.5, 0.1})).status().code() ==
        absl::StatusCode::kFailedPrecondition);
  v1::CompleteTrialRequest failed = Completing(id, trial);
  failed.set_failed(true);
  CHECK(play.Complete(failed).status().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("Asks: a completion is known again after its job has ended", "[server]") {
  Play play;
  std::string id = play.Create(ExternalJob(RandomJob(1, 9)));
  v1::SuggestedTrial trial = AskOne(play, id);
  REQUIRE(play.Complete(Completing(id, trial, {0.5, NAN})).ok());
  REQUIRE(play.Describe(id).state() == v1::TuningJob::FAILED);
  play.Restart();
  CHECK(play.Complete(Completing(id, trial, {0.5, NAN})).ok());
  CHECK(play.Report(Telling(id, trial, 3, 0.1)).status().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("Asks: a failure ends the trial in the client's words", "[server]") {
  Play play;
  std::string id = play.Create(ExternalJob(RandomJob(1, 9)));
  v1::CompleteTrialRequest failed = Completing(id, AskOne(play, id));
  failed.set_failed(true);
  failed.set_reason("out of memory");
  auto answer = play.Complete(failed);
  REQUIRE(answer.ok());
  CHECK(answer->trial().state() == v1::Trial::FAILED);
  CHECK_THAT(answer->trial().state_reason(), Catch::Contains("out of memory"));
}

TEST_CASE("Asks: failures are listed by reason, the most frequent first", "[server]") {
  Play play;
  v1::TuningJobSpec spec = ExternalJob(RandomJob(30));
  spec.mutable_limits()->set_max_first_failures(0);
  const std::string id = play.Create(spec);
  for (int i = 1; i <= 30; ++i) {
    v1::CompleteTrialRequest request = Completing(id, AskOne(play, id));
    request.set_failed(true);
    request.set_reason(i % 6 == 0 ? "out of memory" : "exit code " + std::to_string(i));
    REQUIRE(play.Complete(request).ok());
    if (i == 12) CHECK(play.Describe(id).failures(0).trials() == 2);  // while it runs too
  }
  const v1::TuningJob job = play.Describe(id);
  REQUIRE(job.failures_size() == 20);
  CHECK(job.failures(0).reason() == "out of memory");
  CHECK(job.failures(0).trials() == 5);
  CHECK(job.failures(0).first_trial() == 6);
  CHECK(job.failures(1).reason() == "exit code 1");
  CHECK(job.failures(1).first_trial() == 1);
  CHECK(job.state_reason() == "All 30 trials failed. Trial 1: exit code 1");
  play.Restart();
  CHECK(play.Describe(id).failures_size() == 20);
}

TEST_CASE("Asks: a metric per fold: the best mean is the best, and a weak first fold ends a trial",
          "[server]") {
  Play play;
  v1::TuningJobSpec spec = ExternalJob(RandomJob(4, 3));
  spec.mutable_objective()->set_value(v1::ObjectiveSpec::MEAN);
  spec.mutable_pruner()->set_kind(v1::PrunerSpec::MEDIAN);
  spec.mutable_pruner()->set_warm_up_trials(3);
  spec.mutable_sampler()->set_kind(v1::SamplerSpec::RANDOM);
  spec.clear_strategy();
  const std::string id = play.Create(spec);
  const std::vector<std::vector<double>> folds = {{0.1, 0.6, 0.5}, {0.3, 0.3, 0.3}, {0.35, 0.2, 0.2}, {0.9}};
  for (const std::vector<double>& losses : folds) {
    const v1::SuggestedTrial trial = AskOne(play, id);
    for (size_t fold = 0; fold < losses.size(); ++fold) {
      auto told = play.Report(Telling(id, trial, static_cast<int64_t>(fold) + 1, losses[fold]));
      REQUIRE(told.ok());
      CHECK(told->stop() == (losses[fold] == 0.9));
      play.Restart();
    }
    if (losses.size() == 3) REQUIRE(play.Complete(Completing(id, trial)).ok());
    play.CheckStored();
  }
  const v1::TuningJob job = play.Describe(id);
  CHECK(job.best().trial() == 3);
  CHECK(job.best().objective() == Approx(0.25));
  CHECK(job.best().resource() == 3);
  CHECK(job.trial_counts().pruned() == 1);
  const std::vector<v1::Trial> trials = play.Trials(id);
  CHECK(trials[0].best_objective() == 0.1);
  CHECK(trials[0].value() == Approx(0.4));
  CHECK(trials[0].value_resource() == 3);
  CHECK(trials[3].state() == v1::Trial::PRUNED);
  CHECK_THAT(trials[3].state_reason(), Catch::Contains("its mean loss so far, 0.9, is worse than"));
  CHECK(Verify(ToSearchSpec(spec), play.Facts(id)).ok());
}

TEST_CASE("Asks: of a long reason the end is kept", "[server]") {
  Play play;
  std::string id = play.Create(ExternalJob(RandomJob(1, 9)));
  v1::CompleteTrialRequest failed = Completing(id, AskOne(play, id));
  failed.set_failed(true);
  for (int i = 0; i < 5000; ++i) failed.mutable_reason()->append("é");
  failed.mutable_reason()->append("MemoryError");
  auto answer = play.Complete(failed);
  REQUIRE(answer.ok());
  const std::string& reason = answer->trial().state_reason();
  CHECK(reason.size() == 4095);  // the first byte that is kept begins a character
  CHECK_THAT(reason, Catch::StartsWith("é") && Catch::EndsWith("MemoryError"));
}

// One trial is there at once, the second a model is asked for; it thinks while the gate is closed.
struct ThinkingPlay {
  ThinkingPlay() {
    play.make_model = [this] {
      return [this](const JobState& state) {
        gate.get_future().wait();
        return Suggested{2, {0.75}, state.last_sequence(), "it seems best"};
      };
    };
    play.Restart();
    v1::TuningJobSpec spec = ExternalJob(RandomJob(2, 9));
    spec.clear_strategy();
    spec.mutable_sampler()->set_kind(v1::SamplerSpec::TPE);
    spec.mutable_sampler()->set_startup_trials(1);
    spec.mutable_pruner()->set_kind(v1::PrunerSpec::NONE);
    (*spec.add_initial_configurations()->mutable_hyperparameters())["x"] = "0.5";
    id = play.Create(spec, "", {{{{0.2}, 1.5, 9, "the first"}, {{0.8}, 2.5, 9, "the second"}}, ""});
  }
  ~ThinkingPlay() {
    if (!open) Open();
  }
  void Open() {
    gate.set_value();
    open = true;
  }
  std::promise<void> gate;
  bool open = false;
  Play play;
  std::string id;
};

TEST_CASE("Asks: who asks for two waits for the model's answer to the second", "[server]") {
  ThinkingPlay t;
  auto held = t.play.StartAsk(Asking(t.id, 2, 60));
  CHECK(t.play.Ask(Asking(t.id))->trials().empty());  // the first went to the one who came before
  t.Open();
  auto answer = held.get();
  REQUIRE(answer.ok());
  REQUIRE(answer->trials_size() == 2);
  CHECK(answer->trials(0).hyperparameters(0).continuous() == 0.5);
  CHECK(answer->trials(1).hyperparameters(0).continuous() == 0.75);
  CHECK(answer->trials(1).choice_reason() == "it seems best");
}

TEST_CASE("Asks: when the wait is over a client gets what there is", "[server]") {
  ThinkingPlay t;
  auto held = t.play.StartAsk(Asking(t.id, 2, 20));
  t.play.Tick(20'000'000);
  CHECK(held.get()->trials_size() == 1);
}

TEST_CASE("Asks: what a client was given but did not wait for goes to the next", "[server]") {
  ThinkingPlay t;
  int64_t ticket = 0;
  auto held = t.play.StartAsk(Asking(t.id, 2, 60), &ticket);
  t.play.Tick(0);  // by now it was given the first
  t.play.coordinator().CancelSuggestTrials(ticket);
  CHECK(held.get().status().code() == absl::StatusCode::kCancelled);
  CHECK(t.play.Describe(t.id).trial_counts().pending() == 1);
  v1::SuggestedTrial again = AskOne(t.play, t.id);
  CHECK(again.trial() == 1);
  CHECK(again.attempt() == 2);
  t.play.CheckStored();
}

TEST_CASE("Asks: a server that stops takes back what it was about to give", "[server]") {
  ThinkingPlay t;
  auto held = t.play.StartAsk(Asking(t.id, 2, 60));
  t.play.Tick(0);
  t.play.coordinator().StopHolding();
  CHECK(held.get().status().code() == absl::StatusCode::kUnavailable);
  CHECK(t.play.Describe(t.id).trial_counts().pending() == 1);
}

TEST_CASE("Asks: two clients share a job without treading on each other", "[server]") {
  Play play;
  std::string id = play.Create(ExternalJob(HyperbandJob(9)));
  std::set<std::pair<int64_t, int64_t>> seen;
  std::vector<std::pair<v1::SuggestedTrial, int64_t>> training(2);
  for (int step = 0; step < 500 && play.Describe(id).state() == v1::TuningJob::RUNNING; ++step) {
    auto& [trial, level] = training[step % 2];
    if (trial.trial() == 0) {
      auto answer = play.Ask(Asking(id));
      REQUIRE(answer.ok());
      if (answer->trials().empty()) continue;
      trial = answer->trials(0);
      level = trial.resource_from();
      CHECK(seen.emplace(trial.trial(), trial.attempt()).second);
    }
    ++level;
    auto told = play.Report(Telling(id, trial, level, Loss(trial, level)));
    REQUIRE(told.ok());
    if (!told->stop() && level < trial.resource_to()) continue;
    if (!told->stop()) REQUIRE(play.Complete(Completing(id, trial)).ok());
    trial.Clear();
  }
  v1::TuningJob job = play.Describe(id);
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.spend().resource() == job.planned_resource());
}

TEST_CASE("Asks: what makes no sense is refused by name", "[server]") {
  Play play;
  std::string id = play.Create(ExternalJob(RandomJob(3, 9)));
  std::string other = play.Create(RandomJob(1, 9));
  v1::SuggestedTrial trial = AskOne(play, id);
  auto words = [](const auto& answer) {
    return std::to_string(answer.status().raw_code()) + " " + std::string(answer.status().message());
  };
  v1::SuggestTrialsRequest many = Asking(id, 1001), long_wait = Asking(id, 1, 61);
  CHECK_THAT(words(play.Ask(many)), Catch::StartsWith("3 count: 1001"));
  CHECK_THAT(words(play.Ask(long_wait)), Catch::StartsWith("3 wait: 61 s"));
  CHECK_THAT(words(play.Ask(Asking("nobody"))), Catch::StartsWith("5 ") && Catch::Contains("\"nobody\""));
  CHECK_THAT(words(play.Ask(Asking(other))), Catch::StartsWith("9 ") && Catch::Contains("trainer.external"));
  CHECK_THAT(words(play.Report(Telling(id, trial, 10, 0.5))), Catch::StartsWith("3 points[0].resource: 10"));
  CHECK_THAT(words(play.Report(Telling(id, trial, 0, 0.5))), Catch::StartsWith("3 points[0].resource: 0"));
  v1::TuningJobSpec open_end = ExternalJob(RandomJob(1, 9));
  open_end.mutable_limits()->clear_max_trial_resource();
  const std::string open = play.Create(open_end);
  const v1::SuggestedTrial endless_trial = AskOne(play, open);
  CHECK_THAT(
      words(play.Report(Telling(open, endless_trial, std::numeric_limits<int64_t>::max(), 0.5))),
      Catch::StartsWith("3 points[0].resource: 9223372036854775807") && Catch::Contains("1 to 1000000000"));
  v1::ReportMetricsRequest nameless = Telling(id, trial, 1, 0.5);
  nameless.mutable_points(0)->clear_metric();
  v1::ReportMetricsRequest endless = Telling(id, trial, 1, 0.5);
  endless.mutable_points(0)->set_metric(std::string(256, 'x'));
  CHECK_THAT(words(play.Report(endless)), Catch::StartsWith("3 points[0].metric: has 256 bytes"));
  CHECK_THAT(words(play.Report(nameless)), Catch::StartsWith("3 points[0].metric"));
  trial.set_attempt(2);
  CHECK_THAT(words(play.Report(Telling(id, trial, 1, 0.5))), Catch::StartsWith("9 trial 1 has no attempt 2"));
  trial.set_trial(7);
  CHECK_THAT(words(play.Complete(Completing(id, trial))),
             Catch::StartsWith("5 ") && Catch::Contains("no trial 7"));
}

}  // namespace
}  // namespace winnow
