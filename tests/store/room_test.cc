#include "store/room.h"

#include <filesystem>
#include <fstream>

#include "store/store.h"
#include "tests/catch.h"
#include "tests/support/small_disk.h"

namespace winnow {
namespace {

constexpr int64_t kDiskBytes = 4 << 20;

TEST_CASE("Full disk: a database that lies on one is opened, read, and not written", "[store]") {
  SmallDisk disk(kDiskBytes);
  if (!disk.mounted()) {
    WARN("skipped: this process may not mount a file system");
    return;
  }
  const std::string file = disk.file("w.db");
  std::string identity;
  {
    auto store = Store::Open(file);
    REQUIRE(store.ok());
    identity = *(*store)->Identity();
  }
  disk.Fill();
  auto store = Store::Open(file);
  INFO(store.status().ToString());
  REQUIRE(store.ok());
  CHECK(*(*store)->Identity() == identity);
  disk.Fill();  // what was given up is taken too
  const absl::Status full = (*store)->Write([&] {
    return (*store)->database().Execute(
        "CREATE TABLE filler (a); INSERT INTO filler VALUES (zeroblob(4000000))");
  });
  CHECK(full.code() == absl::StatusCode::kResourceExhausted);
  CHECK_THAT(std::string(full.message()), Catch::StartsWith(file) && Catch::Contains("disk is full"));
  CHECK(CheckRoom(file).code() == absl::StatusCode::kResourceExhausted);

  disk.Clear();
  CHECK(CheckRoom(file).ok());
  CHECK((*store)->Write([&] { return (*store)->workers.PutMark({"w", Marked::kCordoned, "", 0}); }).ok());
}

TEST_CASE("Full disk: a new database says what is wrong and leaves nothing half made", "[store]") {
  SmallDisk disk(kDiskBytes);
  if (!disk.mounted()) {
    WARN("skipped: this process may not mount a file system");
    return;
  }
  disk.Fill();
  auto store = Store::Open(disk.file("w.db"));
  CHECK(store.status().code() == absl::StatusCode::kResourceExhausted);
  CHECK_THAT(std::string(store.status().message()),
             Catch::StartsWith(disk.file("w.db")) && Catch::Contains("free some space"));
  disk.Clear();
  CHECK(Store::Open(disk.file("w.db")).ok());
}

}  // namespace
}  // namespace winnow
