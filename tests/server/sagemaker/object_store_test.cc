#include "server/sagemaker/s3/object_store.h"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "server/sagemaker/wire/aws_error.h"
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

// The code of an error; "" is none.
std::string CodeOf(const absl::Status& status) { return status.ok() ? "" : AwsCodeOf(status); }

TEST_CASE("A condition on the object that a write replaces holds in the moment of the write") {
  const TempFolder folder;
  const auto opened = ObjectStore::Open(folder.path());
  REQUIRE(opened.ok());
  ObjectStore& store = **opened;
  REQUIRE(store.CreateBucket("1", "bucket").ok());
  const auto put = [&store](const std::string& key, const std::string& etag,
                            const WriteCondition& condition) {
    ObjectHead head;
    head.key = key;
    head.etag = etag;
    auto draft = store.Write(etag);
    REQUIRE(draft.ok());
    return CodeOf(store.Put("1", "bucket", head, *std::move(draft), condition));
  };
  constexpr int kWriters = 8;
  std::vector<absl::Status> written(kWriters);
  {
    std::vector<ObjectStore::Draft> drafts;
    for (int i = 0; i < kWriters; ++i) drafts.push_back(*store.Write("one"));
    std::vector<std::thread> writers;
    for (int i = 0; i < kWriters; ++i) {
      writers.emplace_back([&, i] {
        ObjectHead head;
        head.key = "one";
        written[i] = store.Put("1", "bucket", head, std::move(drafts[i]), {true, ""});
      });
    }
    for (std::thread& writer : writers) writer.join();
  }
  CHECK(std::count(written.begin(), written.end(), absl::OkStatus()) == 1);
  CHECK(put("new", "a", {false, "a"}) == "NoSuchKey");
  CHECK(put("new", "a", {true, ""}).empty());
  CHECK(put("new", "b", {true, ""}) == "PreconditionFailed");
  CHECK(put("new", "b", {false, "x"}) == "PreconditionFailed");
  CHECK(put("new", "b", {false, "a"}).empty());
  CHECK(put("new", "c", {false, "*"}).empty());
  CHECK(CodeOf(store.Copy("1", "bucket", "one", "bucket", "new", {}, {true, ""}).status()) ==
        "PreconditionFailed");
  ObjectHead of_upload;
  of_upload.key = "new";
  const auto upload = store.CreateUpload("1", "bucket", of_upload);
  REQUIRE(upload.ok());
  auto part = store.Write("part");
  REQUIRE(part.ok());
  REQUIRE(store.PutPart("1", *upload, {1, "ab", {}, 0}, *std::move(part)).ok());
  const auto complete = [&](const WriteCondition& condition) {
    return CodeOf(store.CompleteUpload("1", "bucket", "new", *upload, {{1, "ab"}}, condition).status());
  };
  CHECK(complete({true, ""}) == "PreconditionFailed");
  CHECK(complete({false, "a"}) == "PreconditionFailed");
  CHECK(complete({false, "c"}).empty());  // the upload was still there
  CHECK(FilesIn(folder / "files").size() == 2);
}

}  // namespace
}  // namespace winnow
