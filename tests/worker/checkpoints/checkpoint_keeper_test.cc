#include "worker/checkpoints/checkpoint_keeper.h"

#include <fstream>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/fake_artifacts.h"
#include "worker/checkpoints/artifact_client.h"
#include "worker/checkpoints/transfers.h"
#include "worker/host/event_loop.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

void TellNobody(const std::string&) {}

KeepingOptions Quick() {
  KeepingOptions options;
  options.look_every = milliseconds(5);
  options.patience = milliseconds(20'000);
  options.leaving_patience = milliseconds(1);
  options.first_retry = milliseconds(1);
  options.last_retry = milliseconds(5);
  return options;
}

struct Scene {
  explicit Scene(KeepingOptions options = Quick()) : keeper(&loop, store.Channel(), options) {
    fs::create_directories(checkpoints);
    assignment.set_id("job.1.1.0");
    assignment.set_job_id("job");
    assignment.set_trial(1);
    assignment.set_attempt(1);
    assignment.set_resource_from(3);
  }
  // Complete under its name, as the contract requires.
  void Save(const std::string& name, const std::string& text) {
    std::ofstream(checkpoints / (name + ".part")) << text;
    fs::rename(checkpoints / (name + ".part"), checkpoints / name);
  }
  // True: the keeper reports that all is sent, or given up.
  bool End(int64_t level) {
    bool done = false;
    keeper.End(assignment.id(), level, [&] {
      done = true;
      loop.Quit();
    });
    RunLoop();
    return done;
  }
  void RunLoop() {
    const EventLoop::Id late = loop.After(std::chrono::seconds(60), [this] { loop.Quit(); });
    loop.Run();
    loop.Cancel(late);
  }
  absl::Status Restore(const std::string& bytes) {
    v1::ArtifactFile* file = assignment.mutable_restore()->add_files();
    file->set_path("state");
    file->set_size(static_cast<int64_t>(bytes.size()));
    file->add_blobs()->set_digest(DigestOf(bytes));
    file->mutable_blobs(0)->set_size(file->size());
    absl::Status result = absl::UnknownError("no answer came");
    keeper.Restore(assignment, checkpoints, [&](absl::Status status) {
      result = std::move(status);
      loop.Quit();
    });
    RunLoop();
    return result;
  }

  TempFolder folder;
  fs::path checkpoints = folder / "trial" / "checkpoint";
  FakeArtifacts store;
  EventLoop loop;
  v1::Assignment assignment;
  CheckpointKeeper keeper;
};

TEST_CASE("Keeper: each new checkpoint is sent, and the last one with the level it has reached", "[worker]") {
  Scene scene;
  scene.keeper.Watch(scene.assignment, scene.checkpoints);
  scene.Save("one", "first");
  REQUIRE(scene.store.AwaitPut(1));
  scene.Save("two", "second");
  REQUIRE(scene.store.AwaitPut(2));
  REQUIRE(scene.End(9));
  const auto put = scene.store.put();
  CHECK(put.front().assignment_id() == scene.assignment.id());
  CHECK(put.front().artifact().resource() == 3);
  CHECK(put.front().artifact().manifest().files_size() == 1);
  CHECK(put.back().artifact().resource() == 9);
  CHECK(put.back().artifact().manifest().files_size() == 2);
  CHECK(scene.store.Blob(DigestOf("second")) == "second");
  CHECK_FALSE(fs::exists(scene.checkpoints.parent_path() / ".checkpoint.upload"));
}

TEST_CASE("Keeper: a checkpoint that is removed while it is sent arrives whole", "[worker]") {
  Scene scene;
  const std::string big(kBlobBytes + 7, 'w');
  scene.store.on_put_blob = [&] { fs::remove(scene.checkpoints / "weights"); };
  scene.Save("weights", big);
  scene.keeper.Watch(scene.assignment, scene.checkpoints);
  REQUIRE(scene.store.AwaitPut(1));
  const v1::ArtifactFile file = scene.store.put()[0].artifact().manifest().files(0);
  REQUIRE(file.blobs_size() == 2);
  CHECK(scene.store.Blob(file.blobs(0).digest()) + scene.store.Blob(file.blobs(1).digest()) == big);
}

TEST_CASE("Keeper: a trainer without a checkpoint is not waited for", "[worker]") {
  Scene scene;
  scene.keeper.Watch(scene.assignment, scene.checkpoints);
  CHECK(scene.End(9));
  CHECK(scene.store.put().empty());
}

TEST_CASE("Keeper: a store that is away is tried again", "[worker]") {
  Scene scene;
  scene.store.Answer("PutArtifact", {grpc::StatusCode::UNAVAILABLE, "away"});
  scene.Save("one", "first");
  scene.keeper.Watch(scene.assignment, scene.checkpoints);
  scene.loop.After(milliseconds(50), [&] { scene.store.Answer("PutArtifact", grpc::Status::OK); });
  CHECK(scene.End(9));
  REQUIRE(scene.store.put().size() >= 1);
  CHECK(scene.store.put().back().artifact().resource() == 9);
}

TEST_CASE("Keeper: what cannot be sent holds nobody up for ever", "[worker]") {
  Scene scene;
  std::string method = "PutArtifact";
  grpc::StatusCode code = grpc::StatusCode::UNAVAILABLE;
  SECTION("out of reach while the worker leaves") {}
  SECTION("fenced") { code = grpc::StatusCode::FAILED_PRECONDITION; }
  SECTION("over the quota") {
    method = "PutBlob";
    code = grpc::StatusCode::RESOURCE_EXHAUSTED;
  }
  scene.store.Answer(method, {code, "no"});
  scene.Save("one", "first");
  scene.keeper.Watch(scene.assignment, scene.checkpoints);
  scene.keeper.Hasten(scene.assignment.id());
  CHECK(scene.End(9));
  CHECK(scene.store.put().empty());
}

TEST_CASE("Keeper: nothing is sent that the server does not want", "[worker]") {
  Scene scene;
  scene.store.Answer("PutArtifact", {grpc::StatusCode::FAILED_PRECONDITION, "fenced"});
  scene.Save("one", "first");
  scene.keeper.Watch(scene.assignment, scene.checkpoints);
  CHECK(scene.End(9));
  CHECK(scene.store.Calls("PutBlob") == 0);
}

TEST_CASE("Keeper: an abandoned one ends at once, before its trainer's end or after", "[worker]") {
  Scene scene;
  scene.store.Answer("PutArtifact", {grpc::StatusCode::UNAVAILABLE, "away"});
  scene.Save("one", "first");
  scene.keeper.Watch(scene.assignment, scene.checkpoints);
  SECTION("before") { scene.keeper.Abandon(scene.assignment.id()); }
  SECTION("after") {
    scene.loop.Post([&] { scene.keeper.Abandon(scene.assignment.id()); });
  }
  CHECK(scene.End(9));
}

TEST_CASE("Keeper: a checkpoint is fetched in place of what the folder held", "[worker]") {
  Scene scene;
  scene.store.AddBlob("newest");
  scene.Save("older", "goes");
  REQUIRE(scene.Restore("newest").ok());
  CHECK(FolderEquals(scene.checkpoints, scene.assignment.restore()));
  CHECK(ReadAll(scene.checkpoints / "state") == "newest");
}

TEST_CASE("Keeper: a folder that holds the checkpoint already is left alone", "[worker]") {
  Scene scene;
  scene.Save("state", "newest");
  REQUIRE(scene.Restore("newest").ok());
  CHECK(scene.store.Calls("GetBlob") == 0);
}

TEST_CASE("Keeper: a checkpoint that cannot be had leaves the folder as it was", "[worker]") {
  KeepingOptions options = Quick();
  options.patience = milliseconds(20);
  Scene scene(options);
  scene.Save("older", "stays");
  SECTION("gone") {}
  SECTION("out of reach") { scene.store.Answer("GetBlob", {grpc::StatusCode::UNAVAILABLE, "away"}); }
  SECTION("damaged") { scene.store.Answer("GetBlob", {grpc::StatusCode::DATA_LOSS, "damaged"}); }
  CHECK(absl::IsUnavailable(scene.Restore("newest")));  // which is no fault of this machine
  CHECK(ReadAll(scene.checkpoints / "older") == "stays");
}

TEST_CASE("Keeper: a checkpoint that finds no place here is this machine's fault", "[worker]") {
  Scene scene;
  fs::remove_all(scene.folder / "trial");
  std::ofstream(scene.folder / "trial") << "no folder";
  scene.store.AddBlob("newest");
  CHECK(absl::IsResourceExhausted(scene.Restore("newest")));
}

TEST_CASE("Keeper: an abandoned fetch does not touch the folder any more", "[worker]") {
  Scene scene;
  scene.store.Answer("GetBlob", {grpc::StatusCode::UNAVAILABLE, "away"});
  scene.Save("older", "stays");
  bool called = false;
  v1::ArtifactFile* file = scene.assignment.mutable_restore()->add_files();
  file->set_path("state");
  file->set_size(6);
  file->add_blobs()->set_digest(DigestOf("newest"));
  file->mutable_blobs(0)->set_size(6);
  scene.keeper.Restore(scene.assignment, scene.checkpoints, [&](const absl::Status&) { called = true; });
  scene.keeper.AbandonRestore(scene.assignment.id());
  scene.store.AddBlob("newest");
  scene.store.Answer("GetBlob", grpc::Status::OK);
  scene.loop.After(milliseconds(50), [&] { scene.loop.Quit(); });
  scene.RunLoop();
  CHECK_FALSE(called);
  CHECK(ReadAll(scene.checkpoints / "older") == "stays");
}

TEST_CASE("Keeper: a model is sent once, however often it is asked for, without one an empty one",
          "[worker]") {
  Scene scene;
  v1::ModelWanted wanted;
  wanted.set_job_id("job");
  wanted.set_trial(7);
  fs::path folder = scene.folder / "model";
  int files = 0;
  SECTION("a model") {
    fs::create_directories(folder);
    std::ofstream(folder / "model.json") << "{}";
    files = 1;
  }
  SECTION("no folder") {}
  for (int i = 0; i < 5; ++i) scene.keeper.StoreModel(wanted, folder, TellNobody);
  REQUIRE(scene.store.AwaitPut(1));
  const v1::Artifact artifact = scene.store.put()[0].artifact();
  CHECK(artifact.kind() == v1::Artifact::MODEL);
  CHECK(artifact.trial() == 7);
  CHECK(artifact.manifest().files_size() == files);
  scene.loop.After(milliseconds(20), [&] { scene.loop.Quit(); });
  scene.RunLoop();
  scene.keeper.StoreModel(wanted, folder, TellNobody);
  CHECK(scene.store.put().size() == 1);
}

TEST_CASE("Keeper: says why a model of too many files is not sent", "[worker]") {
  Scene scene;
  v1::ModelWanted wanted;
  wanted.set_job_id("job");
  wanted.set_trial(7);
  const fs::path folder = scene.folder / "model";
  fs::create_directories(folder);
  for (int file = 0; file <= kMaxManifestFiles; ++file) std::ofstream(folder / std::to_string(file));
  std::string reason;
  scene.keeper.StoreModel(wanted, folder, [&](std::string why) {
    reason = std::move(why);
    scene.loop.Quit();
  });
  scene.RunLoop();
  CHECK(reason == folder.string() + " has more than 10000 files: too many to keep");
  CHECK(scene.store.put().empty());
}

TEST_CASE("Keeper: a model folder that is a link, or lies behind one, is not sent", "[worker]") {
  Scene scene;
  fs::create_directories(scene.folder / "elsewhere/model");
  std::ofstream(scene.folder / "elsewhere/model/secret") << "x";
  fs::create_directory_symlink(scene.folder / "elsewhere/model", scene.folder / "model");
  fs::create_directory_symlink(scene.folder / "elsewhere", scene.folder / "7");
  ArtifactClient client(scene.store.Channel());
  for (const FolderName& name :
       {FolderName(scene.folder / "model"), FolderName(scene.folder.path(), "7/model")}) {
    absl::Status result;
    {
      const ModelUpload upload(&client, {}, name, [&](absl::Status status) { result = std::move(status); });
    }
    CHECK(absl::IsFailedPrecondition(result));
  }
  CHECK(scene.store.put().empty());
  CHECK(scene.store.Calls("PutBlob") == 0);
}

TEST_CASE("Keeper: a checkpoint folder that becomes a link is sent no more", "[worker]") {
  Scene scene;
  fs::create_directories(scene.folder / "elsewhere");
  std::ofstream(scene.folder / "elsewhere/secret") << "x";
  scene.Save("one", "first");
  scene.keeper.Watch(scene.assignment, scene.checkpoints);
  REQUIRE(scene.store.AwaitPut(1));
  fs::remove_all(scene.checkpoints);
  fs::create_directory_symlink(scene.folder / "elsewhere", scene.checkpoints);
  CHECK(scene.End(9));
  CHECK(scene.store.Blob(DigestOf("x")).empty());
  CHECK(fs::exists(scene.folder / "elsewhere/secret"));
}

}  // namespace
}  // namespace winnow
