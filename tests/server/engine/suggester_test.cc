#include "server/engine/suggester.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "scheduler/replay.h"
#include "scheduler/suggest.h"
#include "spec/search_spec.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

// Suggests a point per trial; answers only while its gate is open, and counts.
struct SlowModel {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = true;
  int asked = 0;
  int answered = 0;

  void Open(bool value) {
    std::lock_guard lock(mutex);
    open = value;
    opened.notify_all();
  }
  void AwaitQuestion(int number) {
    std::unique_lock lock(mutex);
    if (!opened.wait_for(lock, std::chrono::seconds(30), [&] { return asked >= number; })) {
      FAIL("the model was not asked");
    }
  }
  Suggested Answer(const JobState& state) {
    std::unique_lock lock(mutex);
    ++asked;
    opened.notify_all();
    opened.wait(lock, [&] { return open; });
    ++answered;
    const auto number = static_cast<TrialNumber>(state.trials().size()) + 1;
    return {number, {1.0 / static_cast<double>(number)}, state.last_sequence(), "it seems best"};
  }
  ModelFactory factory() {
    return [this] { return [this](const JobState& state) { return Answer(state); }; };
  }
};

v1::TuningJobSpec TpeJob(int64_t trials) {
  v1::TuningJobSpec spec = RandomJob(trials, 3);
  spec.clear_strategy();
  spec.mutable_sampler()->set_kind(v1::SamplerSpec::TPE);
  spec.mutable_sampler()->set_startup_trials(1);
  spec.mutable_pruner()->set_kind(v1::PrunerSpec::NONE);
  return spec;
}

// With these a TPE job asks its model from the first trial on.
const std::vector<EarlierResult> kEarlier = {{{0.2}, 1.5, 3, "the first"}, {{0.8}, 2.5, 3, "the second"}};

struct ModelPlay {
  ModelPlay() {
    play.make_model = model.factory();
    play.Restart();
  }
  ~ModelPlay() { model.Open(true); }
  // A job whose every trial is the model's suggestion.
  std::string Create(int64_t trials) { return play.Create(TpeJob(trials), "", {kEarlier, ""}); }
  SlowModel model;
  Play play;
};

TEST_CASE("Suggester: what the model says is recorded, followed, and says why", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 1);
  std::string id = t.Create(3);
  CHECK(t.model.asked == 0);  // there is no slot to be filled
  REQUIRE(worker.Tell().ok());
  t.play.AwaitModels();
  CHECK(t.model.asked == 1);
  std::vector<Fact> facts = t.play.Facts(id);
  REQUIRE(facts.size() == 5);
  CHECK(std::holds_alternative<EarlierResult>(facts[1].body));
  CHECK(Identical(facts[2].body, Suggested{1, {1.0}, 2, "it seems best"}));
  CHECK(Identical(facts[3].body, TrialCreated{1, {1.0}, -1, 0, 3, "it seems best"}));
  CHECK(std::holds_alternative<AttemptStarted>(facts[4].body));
}

TEST_CASE("Suggester: while a model thinks, everything else goes on", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 2);
  t.model.Open(false);
  std::string slow = t.Create(3);
  REQUIRE(worker.Tell().ok());
  t.model.AwaitQuestion(1);
  CHECK(t.play.Describe(slow).state_reason() == "Waiting for the search model's suggestion.");
  std::string quick = t.play.Create(RandomJob(4, 2));
  v1::TuningJob job = PlayToEnd(t.play, quick, {&worker});
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(t.model.asked == 1);  // one question at a time
  t.model.Open(true);
  t.play.AwaitModels();
  CHECK(t.play.Trials(slow).size() >= 1);
}

TEST_CASE("Suggester: an answer that the job does not want any more is dropped", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 1);
  t.model.Open(false);
  std::string id = t.Create(3);
  REQUIRE(worker.Tell().ok());
  t.model.AwaitQuestion(1);
  REQUIRE(t.play.Stop(id).ok());
  v1::TuningJob stopped = t.play.Describe(id);
  t.model.Open(true);
  std::string next = t.Create(1);
  REQUIRE(worker.Tell().ok());
  t.play.AwaitModels();
  CHECK(t.play.Trials(next).size() == 1);  // so the first answer has come
  CHECK(t.play.Describe(id).last_sequence() == stopped.last_sequence());
  CHECK(t.play.Trials(id).empty());
}

TEST_CASE("Suggester: after a restart the model is asked again", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 1);
  std::string id = t.Create(2);
  REQUIRE(worker.Tell().ok());
  t.play.AwaitModels();
  REQUIRE(worker.Tell().ok());
  t.play.Restart();
  t.play.CheckStored();
  for (int i = 0; i < 30 && t.play.Trials(id).size() < 2; ++i) {
    REQUIRE(worker.Step().ok());
    t.play.AwaitModels();
  }
  CHECK(t.play.Trials(id).size() == 2);
}

TEST_CASE("Suggester: answers follow one another until every slot is filled", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 64);
  std::string id = t.Create(100);
  REQUIRE(worker.Tell().ok());
  t.play.AwaitModels();  // no Sync is needed in between
  CHECK(t.play.Describe(id).trial_counts().running() == 64);
  CHECK(t.model.asked == 64);
}

TEST_CASE("Suggester: two jobs share the models' thread and the slots", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 8);
  std::string first = t.Create(20), second = t.Create(20);
  REQUIRE(worker.Tell().ok());
  t.play.AwaitModels();
  CHECK(t.play.Describe(first).trial_counts().running() == 4);
  CHECK(t.play.Describe(second).trial_counts().running() == 4);
}

TEST_CASE("Suggester: a gang that the model suggests is not starved by small trials", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 4);
  std::string small = t.play.Create(RandomJob(100, 2));
  REQUIRE(worker.Tell().ok());
  CHECK(worker.running.size() == 4);
  v1::TuningJobSpec spec = TpeJob(1);
  spec.mutable_cluster()->set_nodes(4);
  std::string gang = t.play.Create(spec, "", {kEarlier, ""});
  for (int step = 0; step < 20 && t.play.Describe(gang).trial_counts().running() == 0; ++step) {
    REQUIRE(worker.Step().ok());
    t.play.AwaitModels();
  }
  CHECK(t.play.Describe(gang).trial_counts().running() == 1);
  CHECK(t.play.Describe(small).state() == v1::TuningJob::RUNNING);
}

TEST_CASE("Suggester: a job that was deleted while its model thought leaves nothing behind", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 1);
  t.model.Open(false);
  std::string id = t.Create(3);
  REQUIRE(worker.Tell().ok());
  t.model.AwaitQuestion(1);
  REQUIRE(t.play.Stop(id).ok());
  REQUIRE(t.play.Delete(id).ok());
  t.model.Open(true);
  std::string next = t.Create(1);
  REQUIRE(worker.Tell().ok());
  t.play.AwaitModels();
  CHECK(t.play.Trials(next).size() == 1);
  t.play.CheckStored();
}

TEST_CASE("Suggester: that nothing is worth training is heard only if nothing has ended since", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 2);
  std::string id = t.Create(3);
  t.model.Open(false);
  REQUIRE(worker.Tell().ok());
  t.model.AwaitQuestion(1);
  Suggested nothing{0, {}, 0, "nothing can better the best"};
  REQUIRE(t.play
              .Inside([&](Engine& engine) {
                OpenJob& job = *engine.jobs().Find(id);
                nothing.based_on = job.state.last_sequence();
                CHECK(engine.jobs().IsWanted(job, nothing));
                job.newest_end = nothing.based_on + 1;
                CHECK_FALSE(engine.jobs().IsWanted(job, nothing));
              })
              .ok());
}

TEST_CASE("Suggester: a server that stops waits for the fit under way alone", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 1);
  t.model.Open(false);
  std::string id = t.Create(3);
  t.Create(3);
  REQUIRE(worker.Tell().ok());
  t.model.AwaitQuestion(1);
  std::thread opener([&] { t.model.Open(true); });
  t.play.Restart();
  opener.join();
  CHECK(t.play.Trials(id).size() == 1);  // what it gave is kept
  t.play.CheckStored();
}

TEST_CASE("Suggester: a batch that fails forgets the question, and it is asked again", "[server]") {
  ModelPlay t;
  FakeWorker worker(t.play, "one", 1);
  t.model.Open(false);
  std::string id = t.Create(3);
  REQUIRE(worker.Tell().ok());
  t.model.AwaitQuestion(1);
  REQUIRE_FALSE(t.play
                    .Inside([](Engine& engine) {
                      engine.context().Note(absl::ResourceExhaustedError("the disk is full"));
                    })
                    .ok());
  REQUIRE(worker.Tell().ok());
  t.model.Open(true);
  t.model.AwaitQuestion(2);
  v1::TuningJob job = PlayToEnd(t.play, id, {&worker}, [&](int) { t.play.AwaitModels(); });
  CHECK(job.trial_counts().completed() == 3);
}

v1::TuningJobSpec StrategyJob(v1::Strategy strategy) {
  v1::TuningJobSpec spec = strategy == v1::BOHB ? HyperbandJob(9) : RandomJob(12, 9);
  spec.set_strategy(strategy);
  if (strategy == v1::FREEZE_THAW) {
    spec.mutable_limits()->clear_max_trial_resource();
    spec.mutable_pruner()->set_max_resource(9);
  }
  return spec;
}

TEST_CASE("Suggester: jobs of real models verify, across restarts and whatever order answers come in",
          "[server]") {
  Play play;
  FakeWorker one(play, "one", 2), two(play, "two", 3);
  one.fails_at = two.fails_at = {{3, 2}};
  const std::vector<v1::TuningJobSpec> specs = {StrategyJob(v1::BOHB), TpeJob(20), StrategyJob(v1::BAYESIAN),
                                                StrategyJob(v1::FREEZE_THAW)};
  std::vector<std::string> ids;
  for (const v1::TuningJobSpec& spec : specs) ids.push_back(play.Create(spec));
  for (size_t i = 0; i < specs.size(); ++i) {
    v1::TuningJob job = PlayToEnd(play, ids[i], {&one, &two}, [&](int step) {
      if (step % 3 == 0) play.AwaitModels();
      if (step % 20 == 10) play.Restart();
    });
    CHECK(job.state() == v1::TuningJob::COMPLETED);
    std::vector<Fact> facts = play.Facts(ids[i]);
    const Mismatch mismatch = Verify(ToSearchSpec(specs[i]), facts);
    INFO(ids[i] << ": " << mismatch.recorded << " | " << mismatch.expected);
    CHECK(mismatch.ok());
    CHECK(std::count_if(facts.begin(), facts.end(),
                        [](const Fact& fact) { return std::holds_alternative<Suggested>(fact.body); }) >= 3);
  }
}

TEST_CASE("Suggester: questions are thought about in their order, one at a time", "[server]") {
  TempFolder folder;
  auto store = Store::Open(folder.file("w.db"));
  REQUIRE(store.ok());
  std::vector<int64_t> jobs, answered;
  for (const char* name : {"a", "b", "c"}) {
    jobs.push_back((*store)->jobs.Insert(name, JobRow())->key);
    for (int64_t i : {0, 1}) {
      REQUIRE((*store)->facts.AppendEvent(jobs.back(), {i + 1, 0, kEarlier[i]}).ok());
    }
  }
  SlowModel model;
  model.Open(false);
  SuggestionThread thread(folder.file("w.db"), model.factory(),
                          [&](const Question& question, std::optional<Suggested> answer) {
                            if (answer && answer->based_on == 2) answered.push_back(question.job);
                          });
  for (int64_t job : jobs) thread.Ask({job, ToSearchSpec(TpeJob(3)), {}, 0});
  model.AwaitQuestion(1);
  CHECK(model.asked == 1);
  model.Open(true);
  model.AwaitQuestion(3);
  thread.Stop();
  CHECK(answered == jobs);
}

TEST_CASE("Suggester: a slow model holds up no job of another thread", "[server]") {
  TempFolder folder;
  auto store = Store::Open(folder.file("w.db"));
  REQUIRE(store.ok());
  std::vector<int64_t> jobs;
  for (const char* name : {"a", "b"}) {
    jobs.push_back((*store)->jobs.Insert(name, JobRow())->key);
    REQUIRE((*store)->facts.AppendEvent(jobs.back(), {1, 0, kEarlier[0]}).ok());
  }
  SlowModel model;
  model.Open(false);
  SuggestionThreads threads(2, folder.file("w.db"), model.factory(),
                            [](const Question&, const std::optional<Suggested>&) {});
  for (int64_t job : jobs) threads.Ask({job, ToSearchSpec(TpeJob(3)), {}, 0});
  model.AwaitQuestion(2);  // both, though neither is answered
  model.Open(true);
  threads.Stop();
}

TEST_CASE("Suggester: a job whose rows are being removed is not read", "[server]") {
  TempFolder folder;
  auto store = Store::Open(folder.file("w.db"));
  REQUIRE(store.ok());
  std::vector<int64_t> jobs;
  for (const char* name : {"removed", "kept"}) {
    jobs.push_back((*store)->jobs.Insert(name, JobRow())->key);
    for (int64_t sequence : {1, 3}) {  // the second fact of the first job has gone
      if (sequence == 3 && jobs.size() == 2) continue;
      REQUIRE((*store)->facts.AppendEvent(jobs.back(), {sequence, 0, kEarlier[0]}).ok());
    }
  }
  SlowModel model;
  std::vector<int64_t> asked, chosen;
  SuggestionThread thread(
      folder.file("w.db"), model.factory(),
      [&](const Question& question, std::optional<Suggested> answer) {
        if (answer) asked.push_back(question.job);
      },
      nullptr,
      [&](const ChoiceQuestion& question, const std::optional<v1::BestTrial>&) {
        chosen.push_back(question.job);
      });
  for (int64_t job : jobs) thread.Choose({"", job, TpeJob(3)});
  for (int64_t job : jobs) thread.Ask({job, ToSearchSpec(TpeJob(3)), {}, 0});
  model.AwaitQuestion(1);
  thread.Stop();
  CHECK(chosen == std::vector<int64_t>{jobs[1]});
  CHECK(asked == std::vector<int64_t>{jobs[1]});
}

TEST_CASE("Suggester: a question brings facts that are not committed, and another epoch forgets them",
          "[server]") {
  TempFolder folder;
  auto store = Store::Open(folder.file("w.db"));
  REQUIRE(store.ok());
  const int64_t job = (*store)->jobs.Insert("a", JobRow())->key;
  REQUIRE((*store)->facts.AppendEvent(job, {1, 0, kEarlier[0]}).ok());
  SlowModel model;
  std::vector<int64_t> based_on;
  SuggestionThread thread(folder.file("w.db"), model.factory(),
                          [&](const Question&, std::optional<Suggested> answer) {
                            based_on.push_back(answer ? answer->based_on : 0);
                          });
  const auto ask = [&](std::vector<Fact> facts, int64_t epoch) {
    thread.Ask({job, ToSearchSpec(TpeJob(3)), std::move(facts), epoch});
  };
  const Fact second{2, 0, kEarlier[1]}, third{3, 0, kEarlier[1]}, fifth{5, 0, kEarlier[1]};
  ask({second, third}, 0);
  ask({}, 0);
  ask({}, 1);       // what is committed
  ask({fifth}, 1);  // the fourth is nowhere
  ask({second}, 1);
  model.AwaitQuestion(4);
  ask({third}, 1);
  model.AwaitQuestion(5);
  thread.Stop();
  CHECK(based_on == std::vector<int64_t>{3, 3, 1, 0, 2, 3});
}

}  // namespace
}  // namespace winnow
