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

TEST_CASE("An object that is being read is read to its end where it is replaced or deleted meanwhile") {
  const TempFolder folder;
  const auto opened = ObjectStore::Open(folder.path());
  REQUIRE(opened.ok());
  ObjectStore& store = **opened;
  REQUIRE(store.CreateBucket("1", "bucket").ok());
  const std::string first(5 << 20, 'a');
  const std::string second = "second";
  ObjectHead head;
  head.key = "key";
  const auto upload = store.CreateUpload("1", "bucket", head);
  REQUIRE(upload.ok());
  for (const auto& [number, bytes] : {std::pair(1, first), std::pair(2, second)}) {
    auto part = store.Write(bytes);
    REQUIRE(part.ok());
    REQUIRE(store.PutPart("1", *upload, {number, "ab", {}, 0}, *std::move(part)).ok());
  }
  REQUIRE(store.CompleteUpload("1", "bucket", "key", *upload, {{1, "ab"}, {2, "ab"}}).ok());
  const auto read = [&] {
    const auto found = store.Get("1", "bucket", "key");
    REQUIRE(found.ok());
    return store.Read(*found, 0, found->size);
  };
  const auto all = [](BodySource& source) {
    std::string bytes;
    while (static_cast<int64_t>(bytes.size()) < source.size()) {
      const std::string next = source.Next(1 << 20);
      REQUIRE_FALSE(next.empty());
      bytes += next;
    }
    return bytes;
  };
  auto begun = read();
  const auto other = read();
  REQUIRE(begun->Next(10) == std::string(10, 'a'));
  auto draft = store.Write("new");
  REQUIRE(draft.ok());
  REQUIRE(store.Put("1", "bucket", head, *std::move(draft)).ok());
  const auto of_new = read();
  REQUIRE(store.Delete("1", "bucket", "key").ok());
  CHECK(all(*other) == first + second);
  std::string rest;
  while (rest.size() < first.size() + second.size() - 10) {
    const std::string next = begun->Next(1 << 20);
    REQUIRE_FALSE(next.empty());
    rest += next;
  }
  CHECK(rest == first.substr(10) + second);
  CHECK(all(*of_new) == "new");
  CHECK(FilesIn(folder / "files").size() == 3);
  begun.reset();
  CHECK(FilesIn(folder / "files").size() == 3);  // the other reader has them still
}

TEST_CASE("Files whose last reader ends are removed, and those of a server that ended at its next start") {
  const TempFolder folder;
  auto opened = ObjectStore::Open(folder.path());
  REQUIRE(opened.ok());
  REQUIRE((*opened)->CreateBucket("1", "bucket").ok());
  const auto put_and_delete = [&] {
    ObjectHead head;
    head.key = "key";
    auto draft = (*opened)->Write("bytes");
    REQUIRE(draft.ok());
    REQUIRE((*opened)->Put("1", "bucket", head, *std::move(draft)).ok());
    auto found = (*opened)->Get("1", "bucket", "key");
    REQUIRE(found.ok());
    auto reader = (*opened)->Read(*found, 0, found->size);
    REQUIRE((*opened)->Delete("1", "bucket", "key").ok());
    return reader;
  };
  auto reader = put_and_delete();
  CHECK(FilesIn(folder / "files").size() == 1);
  reader.reset();
  CHECK(FilesIn(folder / "files").empty());
  reader = put_and_delete();
  opened = absl::UnavailableError("closed");
  CHECK(FilesIn(folder / "files").size() == 1);
  opened = ObjectStore::Open(folder.path());
  REQUIRE(opened.ok());
  CHECK(FilesIn(folder / "files").empty());
}

}  // namespace
}  // namespace winnow
