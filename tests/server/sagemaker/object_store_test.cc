#include "server/sagemaker/s3/object_store.h"

#include <set>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

std::set<std::string> FilesIn(const fs::path& folder) {
  std::set<std::string> files;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    if (each.is_regular_file()) files.insert(each.path().filename());
  }
  return files;
}

TEST_CASE("Uploads that nobody completes within seven days are removed while the store is open") {
  const TempFolder folder;
  auto store = ObjectStore::Open(folder.path());
  REQUIRE(store.ok());
  REQUIRE((*store)->CreateBucket("1", "bucket").ok());
  std::set<std::string> kept;
  ObjectHead object;
  object.key = "object";
  auto bytes = (*store)->Write("object");
  REQUIRE(bytes.ok());
  kept.insert(bytes->piece().file);
  REQUIRE((*store)->Put("1", "bucket", object, *std::move(bytes)).ok());
  for (const char* key : {"old", "new"}) {
    ObjectHead head;
    head.key = key;
    const auto upload = (*store)->CreateUpload("1", "bucket", head);
    REQUIRE(upload.ok());
    auto part = (*store)->Write(key);
    REQUIRE(part.ok());
    if (head.key == "new") kept.insert(part->piece().file);
    UploadedPart first;
    first.number = 1;
    REQUIRE((*store)->PutPart("1", *upload, first, *std::move(part)).ok());
  }
  CHECK((*store)->RemoveForgottenUploads().ok());
  CHECK(FilesIn(folder / "files").size() == 3);
  {
    const auto index = Database::Open(folder / "index.db", OpenMode::kReadWrite);
    REQUIRE(index.ok());
    REQUIRE(
        (*index)
            ->Execute("UPDATE uploads SET created_us = created_us - 8 * 86400 * 1000000 WHERE key = 'old'")
            .ok());
  }
  CHECK((*store)->RemoveForgottenUploads().ok());
  CHECK(FilesIn(folder / "files") == kept);
  CHECK((*store)->Get("1", "bucket", "object").ok());
}

}  // namespace
}  // namespace winnow
