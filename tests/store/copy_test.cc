#include "store/copy.h"

#include <filesystem>

#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

bool Never() { return false; }

TEST_CASE("Copy: has what was committed when it began, and is a database of its own", "[store]") {
  TempFolder folder;
  auto store = Store::Open(folder.file("w.db"));
  REQUIRE((*store)
              ->Write([&] {
                return (*store)->workers.PutMark({"before", Marked::kCordoned, "", 0});
              })
              .ok());
  int looks = 0;
  const auto write_meanwhile = [&] {
    if (looks++ == 0) {
      CHECK((*store)
                ->Write([&] {
                  return (*store)->workers.PutMark({"after", Marked::kCordoned, "", 0});
                })
                .ok());
    }
    return false;
  };
  REQUIRE(CopyDatabase(folder.file("w.db"), folder.file("c.db"), write_meanwhile).ok());
  CHECK(looks > 0);
  auto copy = Store::Open(folder.file("c.db"));
  REQUIRE(copy.ok());
  CHECK(*(*copy)->Identity() == *(*store)->Identity());
  REQUIRE((*copy)->workers.Marks()->size() == 1);
  CHECK((*copy)->workers.Marks()->front().name == "before");
}

TEST_CASE("Copy: one that is wanted no more leaves no file", "[store]") {
  TempFolder folder;
  REQUIRE(Store::Open(folder.file("w.db")).ok());
  const absl::Status status = CopyDatabase(folder.file("w.db"), folder.file("c.db"), [] { return true; });
  CHECK(status.code() == absl::StatusCode::kCancelled);
  CHECK_FALSE(std::filesystem::exists(folder.file("c.db")));
}

TEST_CASE("Copy: without a database or a folder there is none, and it is said which", "[store]") {
  TempFolder folder;
  CHECK_THAT(std::string(CopyDatabase(folder.file("no.db"), folder.file("c.db"), Never).message()),
             Catch::Contains("no.db"));
  REQUIRE(Store::Open(folder.file("w.db")).ok());
  CHECK_THAT(std::string(CopyDatabase(folder.file("w.db"), folder.file("no/c.db"), Never).message()),
             Catch::Contains("no/c.db"));
}

}  // namespace
}  // namespace winnow
