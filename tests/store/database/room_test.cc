#include "store/database/room.h"

#include <filesystem>
#include <fstream>

#include "store/database/wal_check.h"
#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"
#include "tests/support/small_disk.h"

namespace winnow {
namespace {

constexpr int64_t kDiskBytes = 4 << 20;

TEST_CASE("Full disk: a database that lies on one is opened, read, and not written", "[store]") {
  SmallDisk disk(kDiskBytes);
  if (!disk.mounted()) return Skip("this process may not mount a file system");
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
  if (!disk.mounted()) return Skip("this process may not mount a file system");
  disk.Fill();
  auto store = Store::Open(disk.file("w.db"));
  CHECK(store.status().code() == absl::StatusCode::kResourceExhausted);
  CHECK_THAT(std::string(store.status().message()),
             Catch::StartsWith(disk.file("w.db")) && Catch::Contains("free some space"));
  disk.Clear();
  CHECK(Store::Open(disk.file("w.db")).ok());
}

TEST_CASE("Log: commits after it has grown overwrite it, and a process that is killed loses none",
          "[store]") {
  TempFolder folder;
  const std::string file = folder.file("w.db"), log = file + "-wal", copy = folder.file("copy.db");
  auto store = *Store::Open(file);
  GrowLog(store->database());
  const auto size = std::filesystem::file_size(log);
  CHECK(size >= 4u << 20);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(store
                ->Write([&] {
                  return store->workers.PutMark({"w" + std::to_string(i), Marked::kCordoned, "", 0});
                })
                .ok());
  }
  CHECK(std::filesystem::file_size(log) == size);
  // As a killed process leaves them.
  for (const char* end : {"", "-wal"}) std::filesystem::copy_file(file + end, copy + end);
  CHECK(CheckLog(copy).ok());
  auto left = *Store::Open(copy);
  CHECK((*left->workers.Marks()).size() == 20);
}

TEST_CASE("Log: it does not grow where another process writes, or the disk has little room", "[store]") {
  TempFolder folder;
  const std::string file = folder.file("w.db");
  auto store = *Store::Open(file);
  const auto size = std::filesystem::file_size(file + "-wal");
  {
    auto other = *Store::Open(file);
    REQUIRE(other->database().Execute("BEGIN IMMEDIATE").ok());
    REQUIRE(store->database().Execute("PRAGMA busy_timeout = 0").ok());
    GrowLog(store->database());
    REQUIRE(other->database().Execute("ROLLBACK").ok());
  }
  CHECK(std::filesystem::file_size(file + "-wal") == size);
  SmallDisk disk(kDiskBytes);
  if (!disk.mounted()) return Skip("this process may not mount a file system");
  auto small = *Store::Open(disk.file("w.db"));
  const auto before = std::filesystem::file_size(disk.file("w.db-wal"));
  GrowLog(small->database());
  CHECK(std::filesystem::file_size(disk.file("w.db-wal")) == before);
}

}  // namespace
}  // namespace winnow
