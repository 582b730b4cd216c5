#include "server/engine/batches.h"

#include <sstream>

#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "tests/store/get.h"

namespace winnow {
namespace {

constexpr int64_t kLeaseUs = 15'000'000;

// A worker's lease, in batches that are taken by hand.
struct Lease {
  ManualClock time;
  TempFolder folder;
  std::unique_ptr<Store> store = Get(Store::Open(folder.file("w.db")));
  Engine engine{*store, [this] {
                  EngineOptions options;
                  options.lease_us = kLeaseUs;
                  options.clock = time.clock();
                  return options;
                }()};
  Batches batches{*store, engine};

  Lease() {
    REQUIRE(engine.Load().ok());
    v1::SyncRequest request;
    request.set_worker_id("0123456789abcdef0123456789abcdef");
    request.set_name("one");
    request.set_slots(1);
    Run([request](Engine& of) { of.Sync(request, [](absl::StatusOr<v1::SyncResponse>) {}); });
    REQUIRE(State() == v1::Worker::LIVE);
  }
  // A batch that is taken now.
  void Run(std::function<void(Engine&)> use) {
    std::deque<UseCase> batch{{std::move(use), [](const absl::Status&) {}}};
    REQUIRE(batches.Run(batch, time.now_us).ok());
  }
  v1::Worker::State State() const { return engine.ListWorkers(true).at(0).state(); }
};

TEST_CASE("Batches: a lease that runs out while nobody calls is the worker's end", "[server]") {
  Lease lease;
  lease.time.now_us += kLeaseUs + 1;
  lease.Run([](Engine&) {});
  CHECK(lease.State() == v1::Worker::LOST);
}

TEST_CASE("Batches: a process that is stopped in the middle of one gives nobody up", "[server]") {
  Lease lease;
  lease.Run([&](Engine&) { lease.time.now_us += 2 * kLeaseUs; });
  CHECK(lease.State() == v1::Worker::LIVE);
  lease.batches.StoodStill();  // as its caller finds out then
  lease.Run([](Engine&) {});
  CHECK(lease.State() == v1::Worker::LIVE);
  lease.time.now_us += kLeaseUs + 1;
  lease.Run([](Engine&) {});
  CHECK(lease.State() == v1::Worker::LOST);
}

TEST_CASE("Batches: while no transaction can be begun, no lease runs out", "[server]") {
  Lease lease;
  REQUIRE(lease.store->database().Execute("PRAGMA busy_timeout = 0").ok());
  auto other = Get(Store::Open(lease.folder.file("w.db")));
  REQUIRE(other->database().Execute("BEGIN IMMEDIATE").ok());
  lease.time.now_us += 2 * kLeaseUs;
  std::deque<UseCase> refused{{[](Engine&) { FAIL("it was begun"); }, [](const absl::Status&) {}}};
  CHECK(absl::IsUnavailable(lease.batches.Run(refused, lease.time.now_us)));
  REQUIRE(other->database().Execute("ROLLBACK").ok());
  lease.Run([](Engine&) {});
  CHECK(lease.State() == v1::Worker::LIVE);
  lease.time.now_us += kLeaseUs + 1;
  lease.Run([](Engine&) {});
  CHECK(lease.State() == v1::Worker::LOST);
}

// A worker with a free slot, and a job whose search model is asked for its first trial.
struct ModelLease : Lease {
  std::string id;
  std::vector<Question> questions;  // all that were asked
  bool answers = true;              // the model does, while the batch is open
  bool fails = false;               // what joins a batch cannot be recorded

  ModelLease() {
    batches.OnQuestions([this](std::vector<Question> asked) {
      std::deque<UseCase> joining;
      for (Question& question : asked) {
        if (answers)
          joining.push_back({[this, question](Engine& of) { Answer(of, question); }, [](const auto&) {}});
        questions.push_back(std::move(question));
      }
      return joining;
    });
  }
  void Answer(Engine& of, const Question& question) {
    const int64_t sequence = question.facts.back().sequence;
    of.TakeSuggestion(question.job, question.epoch, Suggested{1, {0.25}, sequence, "it seems best"});
    if (fails) of.context().Note(absl::ResourceExhaustedError("the disk is full"));
  }
  // A batch that makes a job with two earlier results.
  absl::Status Create() {
    v1::TuningJobSpec spec = RandomJob(3, 3);
    spec.clear_strategy();
    spec.mutable_sampler()->set_kind(v1::SamplerSpec::TPE);
    spec.mutable_sampler()->set_startup_trials(1);
    spec.mutable_pruner()->set_kind(v1::PrunerSpec::NONE);
    const std::vector<EarlierResult> earlier = {{{0.2}, 1.5, 3, "a"}, {{0.8}, 2.5, 3, "b"}};
    std::deque<UseCase> batch{{[&](Engine& of) {
                                 id = *of.CreateJob(spec, "", {earlier, ""});
                               },
                               [](const auto&) {}}};
    return batches.Run(batch, time.now_us);
  }
  size_t trials() { return engine.jobs().Find(id)->state.trials().size(); }
};

TEST_CASE("Batches: one commit has what made a search model be asked, its answer, and the trial",
          "[server]") {
  ModelLease lease;
  REQUIRE(lease.Create().ok());
  REQUIRE(lease.questions.size() == 1);
  CHECK(lease.questions[0].facts.size() == 2);
  REQUIRE(lease.trials() == 1);
  const std::vector<Fact> stored = *lease.store->facts.Load(lease.questions[0].job, 0);
  REQUIRE(stored.size() == 5);
  CHECK(std::holds_alternative<Suggested>(stored[2].body));
  CHECK(std::holds_alternative<AttemptStarted>(stored[4].body));
}

TEST_CASE("Batches: the log says once that nothing is recorded, and that it is again", "[server]") {
  ModelLease lease;
  lease.fails = true;
  std::ostringstream log;
  const std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("captured", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  const bool refused = !lease.Create().ok() && !lease.Create().ok();
  const std::string first = log.str();
  lease.fails = false;
  const bool recorded = lease.Create().ok();
  spdlog::set_default_logger(before);
  CHECK(refused);
  CHECK(recorded);
  const size_t at = first.find("nothing is recorded for now: the disk is full");
  REQUIRE(at != std::string::npos);
  CHECK(first.find("nothing is recorded", at + 1) == std::string::npos);
  CHECK_THAT(log.str().substr(first.size()), Catch::Contains("what happens is recorded again"));
}

TEST_CASE("Batches: an answer that comes after the commit counts as well", "[server]") {
  ModelLease lease;
  lease.answers = false;
  REQUIRE(lease.Create().ok());
  CHECK(lease.trials() == 0);
  lease.Run([&](Engine& of) { lease.Answer(of, lease.questions.at(0)); });
  CHECK(lease.trials() == 1);
}

TEST_CASE("Batches: an answer from facts that were rolled back does not count", "[server]") {
  ModelLease lease;
  lease.fails = true;
  REQUIRE_FALSE(lease.Create().ok());
  lease.fails = lease.answers = false;
  REQUIRE(lease.Create().ok());  // it gets the same key, and its facts the same sequence numbers
  REQUIRE(lease.questions.size() == 2);
  REQUIRE(lease.questions[0].job == lease.questions[1].job);
  lease.Run([&](Engine& of) { lease.Answer(of, lease.questions[0]); });
  CHECK(lease.trials() == 0);
  lease.Run([&](Engine& of) { lease.Answer(of, lease.questions[1]); });
  CHECK(lease.trials() == 1);
}

}  // namespace
}  // namespace winnow
