#include "artifact/snapshot.h"

#include "artifact/manifest.h"
#include "tests/artifact/folder.h"
#include "tests/catch.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

TEST_CASE("Snapshot: what the trainer removes or replaces afterwards stays in it", "[artifact]") {
  Folder folder;
  folder.Write("checkpoint/epoch-1", "one");
  folder.Write("checkpoint/last", "old");
  REQUIRE(SnapshotFolder(folder.path("checkpoint"), folder.path("copy")).ok());
  fs::remove(folder.path("checkpoint/epoch-1"));
  folder.Write("checkpoint/new", "new");
  fs::rename(folder.path("checkpoint/new"), folder.path("checkpoint/last"));
  CHECK(folder.Read("copy/epoch-1") == "one");
  CHECK(folder.Read("copy/last") == "old");
}

TEST_CASE("Snapshot: what is not whole yet is passed over, and so is an earlier snapshot", "[artifact]") {
  Folder folder;
  folder.Write("checkpoint/epoch-2.part", "hal");
  folder.Write("checkpoint/epoch-3.tmp/weights", "hal");
  folder.Write("checkpoint/epoch-1/weights", "whole");
  folder.Write("copy/earlier", "x");
  REQUIRE(SnapshotFolder(folder.path("checkpoint"), folder.path("copy")).ok());
  const auto listing = ListFolder(folder.path("copy"));
  REQUIRE(listing.ok());
  REQUIRE(listing->files.size() == 1);
  CHECK(listing->files.begin()->first == "epoch-1/weights");
}

TEST_CASE("Snapshot: without a folder there is none", "[artifact]") {
  Folder folder;
  CHECK(absl::IsNotFound(SnapshotFolder(folder.path("checkpoint"), folder.path("copy"))));
}

TEST_CASE("Snapshot: a link in the place of the folder or of its copy is not followed", "[artifact]") {
  Folder folder;
  folder.Write("elsewhere/secret", "x");
  fs::create_directory_symlink(folder.path("elsewhere"), folder.path("checkpoint"));
  CHECK(absl::IsFailedPrecondition(SnapshotFolder(folder.path("checkpoint"), folder.path("copy"))));
  fs::remove(folder.path("checkpoint"));
  folder.Write("checkpoint/own", "x");
  fs::remove_all(folder.path("copy"));
  fs::create_directory_symlink(folder.path("elsewhere"), folder.path("copy"));
  CHECK(SnapshotFolder(folder.path("checkpoint"), folder.path("copy")).ok());
  CHECK(fs::exists(folder.path("elsewhere/secret")));
  CHECK_FALSE(fs::exists(folder.path("elsewhere/own")));
  CHECK(fs::exists(folder.path("copy/own")));
}

}  // namespace
}  // namespace winnow
