#include "store/artifacts.h"

#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

using Digests = std::vector<std::string>;

struct Scene {
  OneStore one;
  std::unique_ptr<Store>& store = one.store;
  int64_t job = NewJob("job");

  int64_t NewJob(const std::string& name) {
    JobRow row;
    row.spec = "{}";
    row.state = "running";
    return Get(store->jobs.Insert(name, row)).key;
  }
  Digests Put(int64_t of, TrialNumber trial, ArtifactKind kind, const Digests& digests) {
    std::vector<BlobRow> blobs;
    for (const std::string& digest : digests) blobs.push_back({digest, 3});
    return Get(store->artifacts.Put({0, of, trial, kind, 1, 9, "manifest", 7}, blobs)).unused;
  }
  Digests Blobs() {
    Digests digests;
    for (const BlobRow& row : Get(store->artifacts.Blobs())) digests.push_back(row.digest);
    return digests;
  }
};

TEST_CASE("Artifacts: the newest of a kind replaces the one before, whose own blobs are returned",
          "[store][stores]") {
  Scene scene;
  CHECK(scene.Put(scene.job, 1, ArtifactKind::kCheckpoint, {"a", "b"}).empty());
  CHECK(scene.Put(scene.job, 1, ArtifactKind::kModel, {"b"}).empty());
  CHECK(scene.Put(scene.job, 1, ArtifactKind::kCheckpoint, {"a", "c"}).empty());
  CHECK(scene.Put(scene.job, 1, ArtifactKind::kCheckpoint, {"d"}) == Digests{"a", "c"});
  CHECK(scene.Blobs() == Digests{"b", "d"});
  const auto found = Get(scene.store->artifacts.Find(scene.job, 1, ArtifactKind::kCheckpoint));
  REQUIRE(found.has_value());
  CHECK(found->manifest == "manifest");
  CHECK(found->resource == 9);
  CHECK(Get(scene.store->artifacts.List()).size() == 2);
}

TEST_CASE("Artifacts: deleting one, or a job's, tells what nothing is of any more", "[store][stores]") {
  Scene scene;
  const int64_t other = scene.NewJob("other");
  scene.Put(scene.job, 1, ArtifactKind::kCheckpoint, {"a", "b"});
  scene.Put(scene.job, 2, ArtifactKind::kCheckpoint, {"c"});
  scene.Put(other, 1, ArtifactKind::kModel, {"b"});
  const auto stored = [&scene] {
    std::vector<int64_t> bytes;
    for (const StoredOfJob& job : Get(scene.store->artifacts.Stored())) bytes.push_back(job.bytes);
    return bytes;
  };
  CHECK(stored() == std::vector<int64_t>{9, 3});
  CHECK(Get(scene.store->artifacts.Delete(scene.job, 3, ArtifactKind::kCheckpoint)).unused.empty());
  const DroppedArtifacts first = Get(scene.store->artifacts.Delete(scene.job, 1, ArtifactKind::kCheckpoint));
  CHECK(first.unused == Digests{"a"});
  CHECK(first.bytes == 6);
  CHECK(stored() == std::vector<int64_t>{3, 3});
  CHECK(Get(scene.store->artifacts.DeleteJob(scene.job)).unused == Digests{"c"});
  CHECK(stored() == std::vector<int64_t>{3});
  CHECK(scene.Blobs() == Digests{"b"});
  REQUIRE(Get(scene.store->artifacts.Of("b")).size() == 1);
  CHECK(Get(scene.store->artifacts.Of("b"))[0].job == other);
}

}  // namespace
}  // namespace winnow
