#include "server/engine/artifacts.h"

#include <limits>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "artifact/refusals.h"
#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"
#include "tests/catch.h"
#include "tests/server/engine/fake_blobs.h"
#include "tests/server/engine/play.h"
#include "tests/server/engine/project_jobs.h"

namespace winnow {
namespace {

// A file "state" with those bytes.
v1::Manifest ManifestOf(const std::string& bytes) {
  v1::Manifest manifest;
  v1::ArtifactFile* file = manifest.add_files();
  file->set_path("state");
  file->set_size(static_cast<int64_t>(bytes.size()));
  v1::BlobName* blob = file->add_blobs();
  blob->set_digest(DigestOf(bytes));
  blob->set_size(static_cast<int64_t>(bytes.size()));
  return manifest;
}

struct ArtifactScene {
  FakeBlobs blobs;
  Play play{15'000'000, &blobs};

  absl::Status Put(const v1::PutArtifactRequest& request, const std::string& token = "") {
    Requester by;
    by.token_id = token;
    absl::Status status;
    REQUIRE(play.Inside([&](Engine& engine) { status = engine.PutArtifact(request, by); }).ok());
    return status;
  }
  // One step of a worker with a token.
  void StepWith(const std::string& token, FakeWorker& worker) {
    worker.Train();
    const auto answer = play.Sync(worker.Request(), token);
    REQUIRE(answer.ok());
    worker.Act(*answer);
  }
  // A checkpoint of that assignment, whose blob is there.
  absl::Status PutCheckpoint(const v1::Assignment& assignment, const std::string& bytes, int64_t resource,
                             const std::string& token = "") {
    blobs.Add(bytes);
    v1::PutArtifactRequest request;
    request.set_assignment_id(assignment.id());
    request.mutable_artifact()->set_job_id(assignment.job_id());
    request.mutable_artifact()->set_trial(assignment.trial());
    request.mutable_artifact()->set_kind(v1::Artifact::CHECKPOINT);
    request.mutable_artifact()->set_resource(resource);
    *request.mutable_artifact()->mutable_manifest() = ManifestOf(bytes);
    return Put(request, token);
  }
  absl::Status PutModel(const std::string& job, int64_t trial, const std::string& bytes,
                        const std::string& token = "") {
    blobs.Add(bytes);
    v1::PutArtifactRequest request;
    request.mutable_artifact()->set_job_id(job);
    request.mutable_artifact()->set_trial(trial);
    request.mutable_artifact()->set_kind(v1::Artifact::MODEL);
    *request.mutable_artifact()->mutable_manifest() = ManifestOf(bytes);
    return Put(request, token);
  }
};

const v1::Assignment& OnlyAssignment(const FakeWorker& worker) {
  REQUIRE(worker.running.size() == 1);
  return worker.running.begin()->second.assignment;
}

// Two workers that share no folder, and a job of one trial, which is placed on the first.
struct TwoDisks : ArtifactScene {
  TwoDisks() {
    REQUIRE(lost.Tell().ok());
    play.Create(RandomJob(1));
    REQUIRE(lost.Tell().ok());
  }
  FakeWorker lost{play, "lost", 1, "disk-1"};
  FakeWorker other{play, "other", 1, "disk-2"};
};

// A trial of nine levels that has reached five on `lost`, which is then not heard of until its lease is over.
void LoseAtFive(TwoDisks& scene) {
  FakeWorker &lost = scene.lost, &other = scene.other;
  REQUIRE(other.Tell().ok());
  for (int i = 0; i < 5; ++i) REQUIRE(lost.Step().ok());
  scene.play.Tick(8'000'000);
  REQUIRE(other.Tell().ok());
  scene.play.Tick(8'000'000);
  REQUIRE(other.Tell().ok());
}

TEST_CASE("Artifacts: checkpoints are asked for only where workers do not share their folder", "[server]") {
  ArtifactScene scene;
  scene.play.Create(RandomJob(1));
  FakeWorker one(scene.play, "one", 1, "disk-1");
  SECTION("one folder") {
    FakeWorker other(scene.play, "other", 1, "disk-1");
    REQUIRE(one.Tell().ok());
    CHECK_FALSE(OnlyAssignment(one).keep_checkpoints());
  }
  SECTION("two folders") {
    FakeWorker other(scene.play, "other", 1, "disk-2");
    other.leaving = true;  // it could not take the trial now, but may come back
    REQUIRE(other.Tell().ok());
    REQUIRE(one.Tell().ok());
    CHECK(OnlyAssignment(one).keep_checkpoints());
    CHECK_FALSE(OnlyAssignment(one).has_restore());
  }
}

TEST_CASE("Artifacts: a trial whose worker is lost goes on elsewhere with its newest checkpoint",
          "[server]") {
  TwoDisks scene;
  FakeWorker &lost = scene.lost, &other = scene.other;
  const v1::Assignment first = OnlyAssignment(lost);
  REQUIRE(scene.PutCheckpoint(first, "at two", 0).ok());
  REQUIRE(scene.PutCheckpoint(first, "at three", 0).ok());
  CHECK_FALSE(scene.blobs.Has("at two"));
  LoseAtFive(scene);
  const v1::Assignment second = OnlyAssignment(other);
  CHECK(second.attempt() == 2);
  CHECK(second.restore().ShortDebugString() == ManifestOf("at three").ShortDebugString());

  // The lost one is fenced.
  CHECK(absl::IsFailedPrecondition(scene.PutCheckpoint(first, "late", 0)));
  // Another server says the same to a worker that has not heard of it.
  scene.play.Restart();
  other.running.clear();
  REQUIRE(other.Tell().ok());
  CHECK(OnlyAssignment(other).restore().files_size() == 1);
}

TEST_CASE("Artifacts: without its checkpoint in the store a trial begins anew elsewhere", "[server]") {
  TwoDisks scene;
  LoseAtFive(scene);
  CHECK_FALSE(OnlyAssignment(scene.other).has_restore());
  CHECK(OnlyAssignment(scene.other).resource_from() == 0);
}

TEST_CASE("Artifacts: paused trials of a rung go on anywhere, and nothing is trained twice", "[server]") {
  ArtifactScene scene;
  FakeWorker here(scene.play, "here", 1, "disk-1");
  FakeWorker there(scene.play, "there", 1, "disk-2");
  there.leaving = true;
  REQUIRE(there.Tell().ok());
  const std::string id = scene.play.Create(HyperbandJob(9));
  int steps = 0;
  do {
    here.Train();
    for (const auto& [assignment_id, run] : here.running) {
      const v1::Assignment& assignment = run.assignment;
      if (run.state.state() != v1::RunningAssignment::ENDED) continue;
      REQUIRE(
          scene.PutCheckpoint(assignment, std::to_string(assignment.trial()), assignment.resource_to()).ok());
    }
    REQUIRE(here.Tell().ok());
    REQUIRE(++steps < 1000);
  } while (scene.play.Describe(id).brackets_size() == 0 ||
           scene.play.Describe(id).brackets(0).rungs(0).arrived() < 9);
  here.leaving = true;
  for (int i = 0; i < 5; ++i) REQUIRE(here.Tell().ok());

  FakeWorker last(scene.play, "last", 1, "disk-3");
  std::set<std::string> restored;
  int64_t seen = 0;
  for (int step = 0; step < 2000 && scene.play.Describe(id).state() < v1::TuningJob::COMPLETED; ++step) {
    last.Train();
    for (const auto& [assignment_id, run] : last.running) {
      const v1::Assignment& assignment = run.assignment;
      if (assignment.has_restore()) ++seen;
      if (run.state.state() != v1::RunningAssignment::ENDED) continue;
      const std::string bytes =
          std::to_string(assignment.trial()) + " at " + std::to_string(assignment.resource_to());
      scene.PutCheckpoint(assignment, bytes, assignment.resource_to()).IgnoreError();
    }
    REQUIRE(last.Tell().ok());
    scene.play.time.now_us += 100'000;
  }
  const v1::TuningJob job = scene.play.Describe(id);
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(seen > 0);
  CHECK(job.spend().resource() == job.planned_resource());
}

TEST_CASE("Artifacts: a level that no trial may have is refused by name", "[server]") {
  ArtifactScene scene;
  FakeWorker worker(scene.play, "worker", 1, "disk-1");
  scene.play.Create(RandomJob(1));
  REQUIRE(worker.Tell().ok());
  for (const int64_t level : {int64_t{-1}, int64_t{1'000'000'001}, std::numeric_limits<int64_t>::max()}) {
    const absl::Status refused = scene.PutCheckpoint(OnlyAssignment(worker), "state", level);
    CHECK(absl::IsInvalidArgument(refused));
    CHECK_THAT(std::string(refused.message()),
               Catch::StartsWith("artifact.resource: " + std::to_string(level)));
  }
}

TEST_CASE("Artifacts: the error for a missing blob says that it is missing", "[server]") {
  ArtifactScene scene;
  FakeWorker worker(scene.play, "worker", 1, "disk-1");
  const std::string id = scene.play.Create(RandomJob(1));
  REQUIRE(worker.Tell().ok());
  v1::PutArtifactRequest request;
  request.set_assignment_id(OnlyAssignment(worker).id());
  request.mutable_artifact()->set_job_id(id);
  request.mutable_artifact()->set_trial(1);
  request.mutable_artifact()->set_kind(v1::Artifact::CHECKPOINT);
  *request.mutable_artifact()->mutable_manifest() = ManifestOf("not sent");
  const absl::Status missing = scene.Put(request);
  CHECK(absl::IsFailedPrecondition(missing));
  CHECK(missing.GetPayload(kMissingBlob).has_value());
  request.set_assignment_id("unknown");
  const absl::Status fenced = scene.Put(request);
  CHECK(absl::IsFailedPrecondition(fenced));
  CHECK_FALSE(fenced.GetPayload(kMissingBlob).has_value());
}

TEST_CASE("Artifacts: the best trial's model is asked of its worker until it comes, and is what stays",
          "[server]") {
  ArtifactScene scene;
  FakeWorker worker(scene.play, "worker", 1, "disk-1");
  worker.objective = [](TrialNumber trial, int64_t) { return trial == 2 ? 0.5 : 1.0; };
  const std::string id = scene.play.Create(RandomJob(3, 2));
  std::vector<int64_t> asked;
  for (int step = 0; step < 50; ++step) {
    worker.Train();
    for (const auto& [assignment_id, run] : worker.running) {
      const v1::Assignment& assignment = run.assignment;
      if (run.state.state() == v1::RunningAssignment::ENDED) {
        REQUIRE(scene.PutCheckpoint(assignment, "c" + std::to_string(assignment.trial()), 2).ok());
      }
    }
    auto answer = scene.play.Sync(worker.Request());
    REQUIRE(answer.ok());
    for (const v1::ModelWanted& wanted : answer->models_wanted()) {
      if (asked.empty() || asked.back() != wanted.trial()) asked.push_back(wanted.trial());
    }
    worker.Act(*answer);
  }
  REQUIRE(scene.play.Describe(id).state() == v1::TuningJob::COMPLETED);
  CHECK(asked == std::vector<int64_t>{1, 2});

  CHECK(absl::IsFailedPrecondition(scene.PutModel(id, 3, "m3")));
  scene.play.Restart();  // the next server asks too
  auto answer = scene.play.Sync(worker.Request());
  REQUIRE(answer.ok());
  REQUIRE(answer->models_wanted_size() == 1);
  REQUIRE(scene.PutModel(id, 2, "m2").ok());
  answer = scene.play.Sync(worker.Request());
  REQUIRE(answer.ok());
  CHECK(answer->models_wanted_size() == 0);
  CHECK(scene.blobs.Has("m2"));
  CHECK(scene.blobs.Has("c2"));
  CHECK_FALSE(scene.blobs.Has("c1"));
  CHECK_FALSE(scene.blobs.Has("c3"));

  REQUIRE(scene.play.Delete(id).ok());
  CHECK_FALSE(scene.blobs.Has("m2"));
  CHECK_FALSE(scene.blobs.Has("c2"));
}

// A job of three trials whose second is the best, all trained by `worker`; the best's model is there.
struct ThreeModels : ArtifactScene {
  FakeWorker worker{play, "worker", 1, "disk-1"};
  std::string id;

  ThreeModels() {
    worker.objective = [](TrialNumber trial, int64_t) { return trial == 2 ? 0.5 : 1.0; };
    id = play.Create(RandomJob(3, 2));
    PlayToEnd(play, id, {&worker});
    REQUIRE(PutModel(id, 2, "m2").ok());
  }
  absl::Status Ask(int64_t trial) {
    v1::GetArtifactRequest request;
    request.set_job_id(id);
    request.set_trial(trial);
    absl::Status status;
    REQUIRE(play.Inside([&](Engine& engine) { status = engine.RequestModelFile(request); }).ok());
    return status;
  }
  std::vector<int64_t> Wanted() {
    const auto answer = play.Sync(worker.Request());
    REQUIRE(answer.ok());
    std::vector<int64_t> trials;
    for (const v1::ModelWanted& wanted : answer->models_wanted()) trials.push_back(wanted.trial());
    return trials;
  }
};

TEST_CASE("Artifacts: only the token of the worker that trains puts the trial's checkpoint", "[server]") {
  ArtifactScene scene;
  FakeWorker worker(scene.play, "one", 1, "disk-1"), other(scene.play, "other", 1, "disk-2");
  scene.play.Create(RandomJob(1));
  scene.StepWith("token-a", worker);
  scene.StepWith("token-b", other);
  const v1::Assignment& assignment = OnlyAssignment(worker);
  REQUIRE(scene.PutCheckpoint(assignment, "own", 0, "token-a").ok());
  const auto refused = [&] { return scene.PutCheckpoint(assignment, "foreign", 0, "token-b"); };
  CHECK(absl::IsPermissionDenied(refused()));
  CHECK_THAT(std::string(refused().message()),
             Catch::Contains(assignment.id()) && Catch::Contains("another token"));
  scene.play.Restart();  // the worker has not called the next server
  CHECK(absl::IsPermissionDenied(refused()));
  CHECK(scene.blobs.Has("own"));
  REQUIRE(scene.PutCheckpoint(assignment, "newer", 0, "token-a").ok());
  CHECK_FALSE(scene.blobs.Has("own"));
}

TEST_CASE("Artifacts: only the token of a worker that is asked for a model puts it", "[server]") {
  ArtifactScene scene;
  FakeWorker home(scene.play, "home", 1, "disk-1"), beside(scene.play, "beside", 1, "disk-1"),
      other(scene.play, "other", 1, "disk-2");
  const std::string id = scene.play.Create(RandomJob(1, 2));
  for (int step = 0; step < 20 && scene.play.Describe(id).state() == v1::TuningJob::RUNNING; ++step)
    scene.StepWith("token-a", home);
  REQUIRE(scene.play.Describe(id).state() == v1::TuningJob::COMPLETED);
  scene.StepWith("token-b", other);
  scene.StepWith("token-c", beside);
  const auto refuses = [&](const std::string& token) {
    const absl::Status status = scene.PutModel(id, 1, "foreign", token);
    return absl::IsPermissionDenied(status) &&
           status.message().find("trial 1 of job \"" + id + "\"") != std::string::npos;
  };
  CHECK((refuses("token-b") && refuses("token-c")));
  SECTION("the worker that trained it, also before it has called a server that was started anew") {
    scene.play.Restart();
    CHECK((refuses("token-b") && refuses("token-c")));
    CHECK(scene.PutModel(id, 1, "own", "token-a").ok());
  }
  SECTION("that worker, which leaves while it sends, or one with the same folder") {
    const std::string sender = GENERATE(as<std::string>(), "token-a", "token-c");
    home.leaving = true;
    scene.StepWith("token-a", home);
    CHECK(refuses("token-b"));
    CHECK(scene.PutModel(id, 1, "own", sender).ok());
  }
}

TEST_CASE("Artifacts: another trial's model is fetched when it is asked for, and kept for an hour",
          "[server]") {
  ThreeModels scene;
  CHECK(scene.Wanted().empty());
  CHECK(scene.Ask(3).GetPayload(kModelComes).has_value());
  CHECK_THAT(std::string(scene.Ask(3).message()),
             Catch::Contains("trial 3") && Catch::Contains("worker worker on"));
  CHECK(scene.Wanted() == std::vector<int64_t>{3});
  REQUIRE(scene.PutModel(scene.id, 3, "m3").ok());
  CHECK(scene.Wanted().empty());
  CHECK((scene.blobs.Has("m2") && scene.blobs.Has("m3")));
  CHECK(absl::IsNotFound(scene.Ask(1)));
  REQUIRE(scene.PutModel(scene.id, 1, "m1").ok());
  CHECK((scene.blobs.Has("m2") && scene.blobs.Has("m3")));
  scene.play.Tick(3'601'000'000);
  CHECK_FALSE((scene.blobs.Has("m1") || scene.blobs.Has("m3")));
  CHECK(scene.blobs.Has("m2"));
}

TEST_CASE(
    "Artifacts: what nobody waits for is wanted no more, and a next server keeps the best's model alone",
    "[server]") {
  ThreeModels scene;
  CHECK(absl::IsNotFound(scene.Ask(1)));
  scene.play.Tick(61'000'000);
  scene.worker.StartAnew();
  CHECK(scene.Wanted().empty());
  CHECK(absl::IsNotFound(scene.Ask(3)));
  REQUIRE(scene.PutModel(scene.id, 3, "m3").ok());
  scene.play.Restart();
  scene.play.Tick(1'000'000);
  CHECK_FALSE(scene.blobs.Has("m3"));
  CHECK(scene.blobs.Has("m2"));
}

TEST_CASE("Artifacts: the models of a front are fetched, and what is not on it any more is dropped",
          "[server]") {
  ArtifactScene scene;
  FakeWorker worker(scene.play, "worker", 1, "disk-1");
  // Trials 1, 3 and 4 are the front; 2 is on it until 3 has come.
  const double kLoss[] = {0.1, 0.5, 0.4, 0.3}, kSeconds[] = {9, 5, 4, 6};
  worker.objective = [&](TrialNumber trial, int64_t) { return kLoss[trial - 1]; };
  worker.seconds = [&](TrialNumber trial) { return kSeconds[trial - 1]; };
  v1::TuningJobSpec spec = RandomJob(4, 2);
  spec.clear_objective();
  for (const char* metric : {"loss", "seconds"}) {
    auto* objective = spec.add_objectives();
    objective->set_metric(metric);
    objective->set_goal(v1::MINIMIZE);
  }
  const std::string id = scene.play.Create(spec);
  const auto send_wanted = [&] {
    auto answer = scene.play.Sync(worker.Request());
    REQUIRE(answer.ok());
    for (const v1::ModelWanted& wanted : answer->models_wanted())
      REQUIRE(scene.PutModel(id, wanted.trial(), "m" + std::to_string(wanted.trial())).ok());
    worker.Act(*answer);
  };
  const auto kept = [&] {
    std::string trials;
    for (const char* trial : {"1", "2", "3", "4"}) {
      if (scene.blobs.Has(std::string("m") + trial)) trials += trial;
    }
    return trials;
  };
  std::set<std::string> seen;
  while (scene.play.Describe(id).state() == v1::TuningJob::RUNNING) {
    worker.Train();
    send_wanted();
    seen.insert(kept());
  }
  CHECK(seen.contains("12"));
  // The last one's model is fetched by the next server.
  scene.play.Restart();
  send_wanted();
  CHECK(kept() == "134");
  scene.play.Restart();
  send_wanted();
  CHECK(kept() == "134");
}

// A job with two objectives; every trial is on its front.
struct LargeFront : ArtifactScene {
  FakeWorker worker{play, "worker", 1, "disk-1"};
  std::string id;

  explicit LargeFront(int64_t trials) {
    worker.objective = [](TrialNumber trial, int64_t) { return static_cast<double>(trial); };
    worker.seconds = [](TrialNumber trial) { return 1000 - static_cast<double>(trial); };
    v1::TuningJobSpec spec = RandomJob(trials, 1);
    spec.clear_objective();
    for (const char* metric : {"loss", "seconds"}) {
      auto* objective = spec.add_objectives();
      objective->set_metric(metric);
      objective->set_goal(v1::MINIMIZE);
    }
    id = play.Create(spec);
  }
  // Sends what is wanted, and returns it.
  std::vector<int64_t> Send() {
    auto answer = play.Sync(worker.Request());
    REQUIRE(answer.ok());
    std::vector<int64_t> sent;
    for (const v1::ModelWanted& wanted : answer->models_wanted()) {
      REQUIRE(PutModel(id, wanted.trial(), "m" + std::to_string(wanted.trial())).ok());
      sent.push_back(wanted.trial());
    }
    worker.Act(*answer);
    return sent;
  }
  void TrainAll() {
    while (play.Describe(id).state() == v1::TuningJob::RUNNING) {
      worker.Train();
      Send();
    }
    Send();
  }
};

TEST_CASE("Artifacts: of a large front the models of 32 trials are kept", "[server]") {
  LargeFront scene(40);
  scene.TrainAll();
  CHECK((scene.blobs.Has("m1") && scene.blobs.Has("m32")));
  CHECK_FALSE(scene.blobs.Has("m33"));
  scene.play.Restart();
  CHECK(scene.Send().empty());
  CHECK(scene.blobs.Has("m32"));
}

TEST_CASE("Artifacts: a server starts although the facts of an ended job with a front are damaged",
          "[server]") {
  LargeFront scene(3);
  scene.TrainAll();
  {
    auto store = Store::Open(scene.play.file());
    REQUIRE(store.ok());
    Statement drop((*store)->database(), "DELETE FROM events WHERE sequence = 2");
    REQUIRE(drop.Bind().Run().ok());
  }
  scene.play.Restart();
  CHECK(scene.Send().empty());
}

TEST_CASE("Artifacts: a model of the front that is asked for after the job's end stays", "[server]") {
  LargeFront scene(3);
  scene.TrainAll();
  REQUIRE(scene.play.Inside([](Engine& engine) { engine.LoseBlob(DigestOf("m2")); }).ok());
  v1::GetArtifactRequest request;
  request.set_job_id(scene.id);
  request.set_trial(2);
  absl::Status status;
  REQUIRE(scene.play.Inside([&](Engine& engine) { status = engine.RequestModelFile(request); }).ok());
  CHECK(status.GetPayload(kModelComes).has_value());
  CHECK(scene.Send() == std::vector<int64_t>{2});
  scene.play.Tick(3'700'000'000);
  scene.worker.StartAnew();
  CHECK(scene.Send().empty());
  CHECK((scene.blobs.Has("m1") && scene.blobs.Has("m2") && scene.blobs.Has("m3")));
}

TEST_CASE("Artifacts: the error for a model out of reach says where it is", "[server]") {
  ThreeModels scene;
  scene.worker.leaving = true;
  REQUIRE(scene.worker.Tell().ok());
  scene.play.Tick(16'000'000);
  const absl::Status gone = scene.Ask(3);
  CHECK(absl::IsNotFound(gone));
  CHECK_FALSE(gone.GetPayload(kModelComes).has_value());
  CHECK_THAT(std::string(gone.message()), Catch::Contains("The model is on worker worker on") &&
                                              Catch::Contains("which is not connected; start that worker"));
  FakeWorker anew(scene.play, "anew", 1, "disk-1");  // over the same folder
  REQUIRE(anew.Tell().ok());
  CHECK(scene.Ask(3).GetPayload(kModelComes).has_value());

  scene.id = scene.play.Create(RandomJob(1, 2));
  REQUIRE(anew.Tell().ok());
  CHECK_THAT(std::string(scene.Ask(1).message()), Catch::Contains("does not exist yet: it is being trained"));
}

TEST_CASE("Artifacts: an attempt that was cut off leaves no model while another one follows", "[server]") {
  ThreeModels scene;
  scene.id = scene.play.Create(RandomJob(1, 2));
  REQUIRE(scene.worker.Tell().ok());
  REQUIRE(scene.worker.running.size() == 1);
  v1::RunningAssignment& run = scene.worker.running.begin()->second.state;
  run.set_state(v1::RunningAssignment::ENDED);
  v1::Outcome& outcome = *run.mutable_outcome();
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_cause(v1::Outcome::NOT_STARTED);
  outcome.set_reason("the disk is full");
  scene.worker.leaving = true;  // it gets no other
  REQUIRE(scene.worker.Tell().ok());
  CHECK_THAT(std::string(scene.Ask(1).message()),
             Catch::Contains("does not exist yet: its last attempt did not finish"));
}

TEST_CASE(
    "Artifacts: a model that its worker cannot send is shown with that reason, until it comes after "
    "all",
    "[server]") {
  ThreeModels scene;
  CHECK(scene.Ask(3).GetPayload(kModelComes).has_value());
  FakeWorker stranger(scene.play, "stranger", 1, "disk-2");
  const auto tell = [&](const FakeWorker& worker, const std::string& reason) {
    v1::SyncRequest request = worker.Request();
    v1::ModelProblem* problem = request.add_model_problems();
    problem->set_job_id(scene.id);
    problem->set_trial(3);
    problem->set_reason(reason);
    REQUIRE(scene.play.Sync(request).ok());
  };
  tell(stranger, "has nothing to say here");
  CHECK(scene.Ask(3).GetPayload(kModelComes).has_value());
  tell(scene.worker, "/w/model has more than 10000 files: too many to keep");
  const absl::Status told = scene.Ask(3);
  CHECK(absl::IsFailedPrecondition(told));
  CHECK_FALSE(told.GetPayload(kModelComes).has_value());
  CHECK(told.message() ==
        "the model of trial 3 of job \"" + scene.id +
            "\" cannot be fetched from worker worker on localhost: /w/model has more than 10000 files: too "
            "many to keep");
  CHECK(scene.Wanted() == std::vector<int64_t>{3});  // somebody may mend it
  REQUIRE(scene.PutModel(scene.id, 3, "m3").ok());
  CHECK(scene.Wanted().empty());
}

TEST_CASE("Artifacts: what has lost a blob is of no use any more", "[server]") {
  TwoDisks scene;
  FakeWorker &lost = scene.lost, &other = scene.other;
  REQUIRE(scene.PutCheckpoint(OnlyAssignment(lost), "at three", 0).ok());
  scene.blobs.Forget(DigestOf("at three"));
  SECTION("found when it is read") {
    REQUIRE(scene.play.Inside([](Engine& engine) { engine.LoseBlob(DigestOf("at three")); }).ok());
  }
  SECTION("found by the next server, which says so") {
    std::ostringstream log;
    const std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("captured", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
    scene.play.Restart();
    spdlog::set_default_logger(before);
    CHECK_THAT(log.str(), Catch::Contains("1 of the recorded checkpoints, models and sources are not in"));
  }
  LoseAtFive(scene);
  CHECK_FALSE(OnlyAssignment(other).has_restore());
}

TEST_CASE("Artifacts: a project that stores its quota starts no trial until a job of it is deleted",
          "[server]") {
  constexpr double kByteInGib = 1.0 / (1 << 30);
  ArtifactScene scene;
  FakeWorker one(scene.play, "one", 1, "disk-1"), two(scene.play, "two", 1, "disk-2");
  for (FakeWorker* worker : {&one, &two}) REQUIRE(worker->Tell().ok());
  const std::string first = CreateIn(scene.play, "vision", "ana", RandomJob(1));
  REQUIRE(one.Tell().ok());
  const v1::Assignment running = OnlyAssignment(one);
  SetQuota(scene.play, {"vision", "ana", {.storage_gib = 6 * kByteInGib}});
  REQUIRE(scene.PutCheckpoint(running, "123", 0).ok());
  REQUIRE(scene.PutCheckpoint(running, "1234567", 0).ok());  // what runs may still save
  const std::string second = CreateIn(scene.play, "vision", "ana", RandomJob(1));
  REQUIRE(two.Tell().ok());
  CHECK(two.running.empty());
  CHECK_THAT(scene.play.Describe(second).state_reason(),
             Catch::StartsWith("ana in project vision stores 6.52e-09 GiB of their 5.58794e-09 GiB;"));
  SECTION("and a server that was started again counts the same") {
    scene.play.Restart();
    for (FakeWorker* worker : {&one, &two}) REQUIRE(worker->Tell().ok());
    CHECK(two.running.empty());
  }
  v1::Source source;
  *source.mutable_manifest() = ManifestOf("code");
  scene.blobs.Add("code");
  absl::StatusOr<std::string> refused;
  const auto create = [&](const std::string& project) {
    REQUIRE(scene.play
                .Inside([&](Engine& engine) {
                  refused = engine.CreateJob(RandomJob(1), "", {}, "ana", &source, project);
                })
                .ok());
  };
  create("vision");
  CHECK(absl::IsResourceExhausted(refused.status()));
  CHECK_THAT(std::string(refused.status().message()),
             Catch::StartsWith("source: it has 3.81e-06 MiB. ana in project vision stores"));
  CHECK(CreateIn(scene.play, "vision", "ben", RandomJob(1)) != "");
  REQUIRE(PlayToEnd(scene.play, first, {&one}).state() == v1::TuningJob::COMPLETED);
  const absl::Status deleted =
      scene.play.Inside([&](Engine& engine) { REQUIRE(engine.DeleteJob(first, Requester()).ok()); });
  REQUIRE(deleted.ok());
  CHECK(PlayToEnd(scene.play, second, {&one, &two}).state() == v1::TuningJob::COMPLETED);
}

}  // namespace
}  // namespace winnow
