#include "server/engine/sync.h"

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

constexpr std::chrono::milliseconds kNow{0};

v1::SyncRequest Held(const FakeWorker& worker) {
  v1::SyncRequest request = worker.Request();
  request.mutable_hold()->set_seconds(20);
  return request;
}

TEST_CASE("Sync: an assignment says all that a process needs", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  v1::TuningJobSpec spec = RandomJob(3, 9);
  spec.mutable_trainer()->mutable_grace_period()->set_seconds(7);
  spec.mutable_trainer()->set_resource_regex("epoch ([0-9]+)");
  spec.set_seed(5);
  std::string id = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.running.size() == 1);
  const v1::Assignment& assignment = worker.running.begin()->second.assignment;
  CHECK(assignment.job_id() == id);
  CHECK(assignment.trial() == 1);
  CHECK(assignment.attempt() == 1);
  CHECK(assignment.world_size() == 1);
  CHECK(assignment.peers(0).worker() == "one");
  CHECK(assignment.master_address() == "localhost");
  CHECK(assignment.command(0) == "/bin/true");
  CHECK(assignment.environment().count("SM_HPS") == 1);
  CHECK(assignment.environment().count("WINNOW_SEED") == 1);
  CHECK(assignment.resource_from() == 0);
  CHECK(assignment.resource_to() == 9);
  CHECK(assignment.grace_period().seconds() == 7);
  CHECK(assignment.metrics_size() == 2);
  CHECK(assignment.resource_regex() == "epoch ([0-9]+)");
  CHECK(assignment.objective_metric() == "loss");
  CHECK(assignment.working_directory() == "/");
}

TEST_CASE("Sync: a lost reply is given again, the same", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  play.Create(RandomJob(5));
  auto lost = play.Sync(worker.Request());
  auto again = play.Sync(worker.Request());
  REQUIRE(lost->assignments_size() == 2);
  CHECK(google::protobuf::util::MessageDifferencer::Equals(*lost, *again));
}

TEST_CASE("Sync: assignments that are too large for one message come one after the other", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 40);
  v1::TuningJobSpec spec = RandomJob(40, 1);
  for (int i = 0; i < 9; ++i)
    (*spec.mutable_trainer()->mutable_environment())[fmt::format("V{}", i)] = std::string(100'000, 'x');
  play.Create(spec);
  std::set<std::string> stated;
  for (int calls = 0; stated.size() < 40; ++calls) {
    REQUIRE(calls < 10);
    v1::SyncRequest request = worker.Request();
    for (const std::string& id : stated) {
      v1::RunningAssignment& running = *request.add_running();
      running.set_assignment_id(id);
      running.set_state(v1::RunningAssignment::RUNNING);
    }
    const auto answer = play.Sync(request);
    CHECK(answer->ByteSizeLong() < 14 << 20);
    // None that the worker has is left out, because it would be stopped.
    std::set<std::string> named;
    for (const v1::Assignment& assignment : answer->assignments()) named.insert(assignment.id());
    CHECK(std::includes(named.begin(), named.end(), stated.begin(), stated.end()));
    CHECK(named.size() > stated.size());
    stated = named;
  }
}

TEST_CASE("Sync: what is sent again is not counted again", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(1, 5));
  REQUIRE(worker.Tell().ok());
  worker.Train();
  for (int i = 0; i < 3; ++i) REQUIRE(play.Sync(worker.Request()).ok());
  CHECK(play.Describe(id).spend().resource() == 1);
  CHECK(play.Refused().duplicate == 4);  // two metrics, twice
  REQUIRE(worker.Tell().ok());
  v1::TuningJob job = PlayToEnd(play, id, {&worker});
  CHECK(job.spend().resource() == 5);
}

TEST_CASE("Sync: an outcome whose acknowledgement was lost is acknowledged again", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(2, 1));
  REQUIRE(worker.Tell().ok());
  worker.Train();
  std::string ended = worker.running.begin()->first;
  for (int i = 0; i < 2; ++i) {
    auto answer = play.Sync(worker.Request());
    REQUIRE(answer->assignments_size() == 1);  // the next trial
    CHECK(answer->assignments(0).id() != ended);
  }
  CHECK(play.Describe(id).trial_counts().completed() == 1);
}

TEST_CASE("Sync: reports count only under a live assignment of that worker", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  std::string id = play.Create(RandomJob(2, 5));
  REQUIRE(one.Tell().ok());
  REQUIRE(two.Tell().ok());
  auto report = [&](const FakeWorker& from, const std::string& assignment, int64_t resource) {
    v1::SyncRequest request = from.Request();
    v1::Report* added = request.add_reports();
    added->set_assignment_id(assignment);
    added->set_resource(resource);
    added->add_metrics()->set_name("loss");
    REQUIRE(play.Sync(request).ok());
  };
  std::string own = one.running.begin()->first;
  report(one, "unknown", 1);
  report(one, two.running.begin()->first, 1);
  CHECK(play.Refused().fenced == 2);
  report(one, own, 6);
  report(one, own, 0);
  CHECK(play.Refused().beyond_budget == 2);
  CHECK(play.Describe(id).spend().resource() == 0);
  REQUIRE(play.Stop(id).ok());
  report(one, own, 1);  // revoked by now
  CHECK(play.Refused().fenced == 3);
}

TEST_CASE("Sync: a notice is kept with its job, each kind once, whoever tells it again", "[server]") {
  Play play;
  FakeWorker one(play, "one", 2), two(play, "two", 1);
  std::string id = play.Create(RandomJob(3, 2));
  REQUIRE(one.Tell().ok());
  REQUIRE(two.Tell().ok());
  const auto notice = [&](const FakeWorker& from, const std::string& assignment, v1::JobNotice::Kind kind,
                          const std::string& text) {
    v1::SyncRequest request = from.Request();
    v1::AssignmentNotice* added = request.add_notices();
    added->set_assignment_id(assignment);
    added->set_kind(kind);
    added->set_text(text);
    REQUIRE(play.Sync(request).ok());
  };
  const std::string own = one.running.begin()->first, others = two.running.begin()->first;
  const int64_t trial = one.running.begin()->second.assignment.trial();
  notice(one, others, v1::JobNotice::BEYOND_BUDGET, "not its own");
  notice(one, own, v1::JobNotice::KIND_UNSPECIFIED, "no kind");
  notice(one, own, static_cast<v1::JobNotice::Kind>(99), "no kind");
  notice(one, own, v1::JobNotice::BEYOND_BUDGET, "");
  CHECK(play.Describe(id).notices_size() == 0);
  notice(one, own, v1::JobNotice::BEYOND_BUDGET, "It trains past its budget.");
  notice(one, own, v1::JobNotice::BEYOND_BUDGET, "It trains past its budget.");
  notice(two, others, v1::JobNotice::BEYOND_BUDGET, "Another trial too.");
  notice(two, others, v1::JobNotice::UNMATCHED_METRIC, std::string(1999, 'x') + "ü");
  play.Restart();
  for (int look = 0; look < 2; ++look) {
    const v1::TuningJob job = play.Describe(id);
    REQUIRE(job.notices_size() == 2);
    CHECK(job.notices(0).kind() == v1::JobNotice::BEYOND_BUDGET);
    CHECK(job.notices(0).trial() == trial);
    CHECK(job.notices(0).text() == "It trains past its budget.");
    CHECK(job.notices(0).time().seconds() > 0);
    CHECK(job.notices(1).text() == std::string(1999, 'x'));  // cut between characters
    PlayToEnd(play, id, {&one, &two});
  }
  play.CheckStored();
}

TEST_CASE("Sync: notices of every kind are kept", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(RandomJob(3, 2));
  REQUIRE(worker.Tell().ok());
  v1::SyncRequest request = worker.Request();
  for (int kind = 1; kind <= v1::JobNotice::Kind_MAX; ++kind) {
    v1::AssignmentNotice* added = request.add_notices();
    added->set_assignment_id(worker.running.begin()->first);
    added->set_kind(static_cast<v1::JobNotice::Kind>(kind));
    added->set_text("what was seen");
  }
  REQUIRE(play.Sync(request).ok());
  CHECK(play.Describe(id).notices_size() == v1::JobNotice::Kind_MAX);
}

TEST_CASE("Sync: different configurations with one curve are noticed, also by a job's last trial",
          "[server]") {
  Play play;
  FakeWorker one(play, "one", 1);
  one.objective = [](TrialNumber trial, int64_t level) {
    return trial == 6 ? 7.0 : 1.0 / static_cast<double>(level);
  };
  const v1::TuningJob job = PlayToEnd(play, play.Create(RandomJob(5, 3)), {&one});
  REQUIRE(job.notices_size() == 1);
  CHECK(job.notices(0).kind() == v1::JobNotice::IDENTICAL_CURVES);
  CHECK(job.notices(0).trial() == 5);
  CHECK(job.notices(0).text() ==
        "All 5 trials reported the same values of loss: does the program read its arguments?");
  CHECK(PlayToEnd(play, play.Create(RandomJob(8, 3)), {&one}).notices_size() == 1);
  v1::TuningJobSpec builtin = RandomJob(5, 3);
  builtin.mutable_trainer()->clear_command();
  builtin.mutable_trainer()->clear_metrics();
  builtin.mutable_trainer()->set_builtin("gbdt");
  CHECK(PlayToEnd(play, play.Create(builtin), {&one}).notices_size() == 0);
  one.objective = [](TrialNumber trial, int64_t) { return trial == 2 ? 7.0 : 1.0; };
  CHECK(PlayToEnd(play, play.Create(RandomJob(8, 3)), {&one}).notices_size() == 0);
  play.CheckStored();
}

TEST_CASE("Sync: the last reports of an attempt come with its end", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(1, 3));
  REQUIRE(worker.Tell().ok());
  for (int level = 0; level < 3; ++level) worker.Train();
  REQUIRE(worker.Tell().ok());
  v1::TuningJob job = play.Describe(id);
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.spend().resource() == 3);
}

TEST_CASE("Sync: is held until there is work", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  auto held = play.StartSync(Held(worker));
  play.Tick(0);
  CHECK(held.wait_for(kNow) == std::future_status::timeout);
  play.Create(RandomJob(1));
  CHECK(held.get()->assignments_size() == 1);
}

TEST_CASE("Sync: is held until something is to be stopped", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(1));
  REQUIRE(worker.Tell().ok());
  auto held = play.StartSync(Held(worker));
  play.Tick(0);
  CHECK(held.wait_for(kNow) == std::future_status::timeout);
  REQUIRE(play.Stop(id).ok());
  CHECK(held.get()->assignments_size() == 0);
}

TEST_CASE("Sync: a held call is answered when its time is over, or by a newer one", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  auto expired = play.StartSync(Held(worker));
  play.Tick(4'000'000);
  CHECK(expired.wait_for(kNow) == std::future_status::timeout);
  play.Tick(1'000'001);  // a third of the lease at most
  CHECK(expired.get().ok());
  auto older = play.StartSync(Held(worker));
  auto newer = play.StartSync(Held(worker));
  CHECK(older.get().ok());
  play.Tick(0);
  CHECK(newer.wait_for(kNow) == std::future_status::timeout);
  play.coordinator().StopHolding();
  CHECK(newer.get().status().code() == absl::StatusCode::kUnavailable);
}

TEST_CASE("Sync: news is acknowledged at once", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  play.Create(RandomJob(1, 5));
  REQUIRE(worker.Tell().ok());
  worker.Train();
  CHECK(play.StartSync(Held(worker)).get().ok());
}

TEST_CASE("Sync: a request that makes no sense is refused by field", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  v1::SyncRequest request = worker.Request();
  std::string field;
  SECTION("no id") { request.clear_worker_id(), field = "worker_id"; }
  SECTION("no name") { request.clear_name(), field = "name"; }
  SECTION("a name with a newline") { request.set_name("one\ntwo"), field = "name"; }
  SECTION("a name with an escape sequence") { request.set_name("\x1b[2Jone"), field = "name"; }
  SECTION("a name that is a path") { request.set_name("../../etc"), field = "name"; }
  SECTION("a folder's name") { request.set_name(".."), field = "name"; }
  SECTION("a name without end") { request.set_name(std::string(1 << 20, 'n')), field = "name"; }
  SECTION("no slots") { request.set_slots(0), field = "slots"; }
  SECTION("too many slots") { request.set_slots(1'000'000), field = "slots"; }
  SECTION("no such port") { request.set_rendezvous_port(65536), field = "rendezvous_port"; }
  SECTION("a port beyond all numbers") { request.set_rendezvous_port(INT32_MAX), field = "rendezvous_port"; }
  const std::string endless(1 << 20, 'x');
  SECTION("a host without end") { request.set_host(endless), field = "host"; }
  SECTION("a storage without end") { request.set_storage_id(endless), field = "storage_id"; }
  SECTION("a version without end") { request.set_version(endless), field = "version"; }
  SECTION("a kind of limits without end") { request.set_limits(endless), field = "limits"; }
  auto answer = play.Sync(request);
  CHECK(answer.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(answer.status().message()), Catch::StartsWith(field + ": "));
  CHECK(answer.status().message().size() < 1000);
  CHECK(answer.status().message().find_first_of("\n\x1b") == absl::string_view::npos);
  CHECK(play.Workers().empty());
}

TEST_CASE("Sync: a worker takes on no name that a new one would not be given", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  v1::SyncRequest request = worker.Request();
  REQUIRE(play.Sync(request).ok());
  request.set_name("host/2");
  CHECK(absl::IsInvalidArgument(play.Sync(request).status()));
  CHECK(play.Workers()[0].name() == "one");
}

TEST_CASE("Sync: a worker that is known does not take the name of another one that is there", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  REQUIRE((one.Tell().ok() && two.Tell().ok()));
  v1::SyncRequest rogue = two.Request();
  rogue.set_name("one");
  const absl::Status refused = play.Sync(rogue).status();
  CHECK(absl::IsAlreadyExists(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("the name one is in use"));
  one.StartAnew();  // it is still the one of that name
  CHECK(one.Tell().ok());
  rogue.set_name("three");
  CHECK(play.Sync(rogue).ok());
}

TEST_CASE("Sync: the reason of an end has an end itself", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(RandomJob(1));
  REQUIRE(worker.Tell().ok());
  REQUIRE_FALSE(worker.running.empty());
  v1::RunningAssignment& state = worker.running.begin()->second.state;
  state.set_state(v1::RunningAssignment::ENDED);
  state.mutable_outcome()->set_kind(v1::Outcome::FAILED);
  state.mutable_outcome()->set_reason(std::string(1 << 20, 'x'));
  REQUIRE(worker.Tell().ok());
  CHECK(play.Trials(id)[0].state_reason().size() < 5000);
}

TEST_CASE("Sync: who has another token does not speak for a worker, nor take its name", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  play.Create(RandomJob(2));
  REQUIRE(play.Sync(worker.Request(), "token-a")->assignments_size() == 1);
  v1::SyncRequest rogue = worker.Request();
  rogue.set_name("mine");
  for (const char* other : {"token-b", ""}) {
    const absl::Status refused = play.Sync(rogue, other).status();
    CHECK(absl::IsPermissionDenied(refused));
    CHECK_THAT(std::string(refused.message()),
               Catch::Contains(worker.id()) && Catch::Contains("another token"));
  }
  // An id of the same work folder, as a process that was started anew has.
  rogue.set_name("one");
  rogue.set_worker_id(worker.id().substr(0, 16) + std::string(16, 'f'));
  CHECK(absl::IsAlreadyExists(play.Sync(rogue, "token-b").status()));
  CHECK(play.Workers().size() == 1);
  CHECK(play.Workers()[0].name() == "one");
  CHECK(play.Sync(worker.Request(), "token-a")->assignments_size() == 1);
  // A restart of the server changes nothing, though the other calls first.
  play.Restart();
  CHECK(absl::IsPermissionDenied(play.Sync(worker.Request(), "token-b").status()));
  CHECK(absl::IsAlreadyExists(play.Sync(rogue, "token-b").status()));
  REQUIRE(play.Workers().size() == 1);
  CHECK(play.Workers()[0].name() == "one");
  CHECK(play.Sync(worker.Request(), "token-a")->assignments_size() == 1);
  CHECK(absl::IsPermissionDenied(play.Sync(worker.Request(), "token-b").status()));
}

TEST_CASE("Sync: a worker whose token is not known is bound to its projects", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  play.Create(RandomJob(2));
  REQUIRE(play.Sync(worker.Request(), "token-a", {"", "vision"})->assignments_size() == 1);
  const absl::Status forgotten = play.Inside([](Engine& engine) {  // as in the file of an older version
    REQUIRE(engine.context().store.database().Execute("UPDATE workers SET token = ''").ok());
  });
  REQUIRE(forgotten.ok());
  play.Restart();
  for (const auto& projects : std::vector<std::vector<std::string>>{{}, {""}, {"speech"}}) {
    CHECK(absl::IsPermissionDenied(play.Sync(worker.Request(), "token-b", projects).status()));
  }
  CHECK(play.Sync(worker.Request(), "token-a", {"", "vision"})->assignments_size() == 1);
  play.Restart();  // its row has the token now
  CHECK(absl::IsPermissionDenied(play.Sync(worker.Request(), "token-b", {"", "vision"}).status()));
}

TEST_CASE("Sync: workers train on when a new start of the server requires tokens, or none", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  play.Create(RandomJob(2));
  for (const char* token : {"", "token-a", "", "token-b"}) {
    INFO(token);
    CHECK(play.Sync(worker.Request(), token)->assignments_size() == 1);
    play.Restart();
  }
}

TEST_CASE("Sync: a process that was killed leaves its name to one with another token after its lease",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  play.Create(RandomJob(2));
  REQUIRE(play.Sync(worker.Request(), "token-a")->assignments_size() == 1);
  play.Restart();
  worker.StartAnew();
  CHECK(absl::IsAlreadyExists(play.Sync(worker.Request(), "token-b").status()));
  play.Tick(16'000'000);
  CHECK(play.Sync(worker.Request(), "token-b")->assignments_size() == 1);
}

TEST_CASE("Sync: levels beyond any that a trial may have are not counted", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  v1::TuningJobSpec spec = RandomJob(1);
  spec.mutable_limits()->clear_max_trial_resource();  // how far a trial goes its trainer says
  const std::string id = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  for (const int64_t level : {int64_t{1'000'000'001}, std::numeric_limits<int64_t>::max()}) {
    v1::SyncRequest request = worker.Request();
    v1::Report* report = request.add_reports();
    report->set_assignment_id(worker.running.begin()->first);
    report->set_resource(level);
    report->add_metrics()->set_name("loss");
    REQUIRE(play.Sync(request).ok());
  }
  CHECK(play.Refused().beyond_budget == 2);
  CHECK(play.Describe(id).spend().resource() == 0);
}

TEST_CASE("Sync: a metric whose name is too long for a key is left out, and nothing beside it", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(RandomJob(1, 5));
  REQUIRE(worker.Tell().ok());
  v1::SyncRequest request = worker.Request();
  v1::Report* report = request.add_reports();
  report->set_assignment_id(worker.running.begin()->first);
  report->set_resource(1);
  report->add_metrics()->set_name(std::string(8000, 'x'));
  report->add_metrics()->set_name(std::string(256, 'x'));
  for (const std::string& name : {std::string(255, 'x'), std::string("loss")}) {
    report->add_metrics()->set_name(name);
    REQUIRE(play.Sync(request).ok());
  }
  CHECK(play.Refused().long_metric == 4);
  CHECK(play.Refused().duplicate == 1);
  CHECK(play.Describe(id).spend().resource() == 1);
  const auto rows = Store::OpenReadOnly(play.file());
  REQUIRE(rows.ok());
  auto metrics = (*rows)->facts.MetricsOf((*(*rows)->jobs.Find(id))->key, 1);
  REQUIRE(metrics.ok());
  std::sort(metrics->begin(), metrics->end());
  CHECK(*metrics == std::vector<std::string>{"loss", std::string(255, 'x')});
}

TEST_CASE("Sync: a value that is not a number is recorded, and fails its trial", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  worker.objective = [](TrialNumber trial, int64_t) { return trial == 1 ? std::nan("") : 0.5; };
  std::string id = play.Create(RandomJob(2, 2));
  v1::TuningJob job = PlayToEnd(play, id, {&worker});
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.best().trial() == 2);
  CHECK_FALSE(play.Trials(id)[0].has_objective());
  CHECK(play.Trials(id)[0].state() == v1::Trial::FAILED);
}

// As a file of SQLite has it: otherwise a server that starts anew would know another value.
TEST_CASE("Sync: a zero has no sign", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  worker.objective = [](TrialNumber, int64_t) { return -0.0; };
  play.Create(RandomJob(1, 5));
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Step().ok());
  int seen = 0;
  REQUIRE(play.Inside([&](Engine& engine) {
                for (const auto& [key, job] : engine.jobs().all()) {
                  const TrialState& trial = job->state.trial(1);
                  if (trial.best_resource == 1 && !std::signbit(trial.best_objective)) ++seen;
                }
              })
              .ok());
  CHECK(seen == 1);
}

TEST_CASE("Sync: programs that wait for trials which are behind are named as the first to end", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 20);
  const std::string job = play.Create(HyperbandJob(81));
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Step().ok());
  v1::SyncRequest request = worker.Request();
  std::map<double, TrialNumber> paused;  // by loss
  for (const v1::Trial& trial : play.Trials(job)) {
    if (trial.state() != v1::Trial::PAUSED) continue;
    v1::WaitingTrainer& program = *request.add_waiting();
    program.set_job_id(job);
    program.set_trial(trial.number());
    program.set_resource(1);
    paused[worker.objective(trial.number(), 1)] = trial.number();
  }
  REQUIRE(paused.size() == 20);
  const auto answer = play.Sync(request);
  REQUIRE(answer.ok());
  REQUIRE(answer->spare_size() == 16);
  auto worst = paused.rbegin();
  for (const v1::WaitingTrainer& program : answer->spare()) CHECK(program.trial() == (worst++)->second);
  CHECK(answer->let_go_size() == 0);
  CHECK(play.Workers(false).front().waiting_trainers() == 20);
}

}  // namespace
}  // namespace winnow
