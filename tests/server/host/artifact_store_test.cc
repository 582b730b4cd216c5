#include "server/host/artifact_store.h"

#include <fstream>

#include "artifact/digest.h"
#include "artifact/manifest.h"
#include "server/host/blobs/blob_folder.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

v1::BlobName NameOf(const std::string& bytes) {
  v1::BlobName name;
  name.set_digest(DigestOf(bytes));
  name.set_size(static_cast<int64_t>(bytes.size()));
  return name;
}

struct Opened {
  explicit Opened(const TempFolder& folder, int64_t quota_bytes = 1 << 30) {
    ArtifactStoreOptions options;
    options.place = std::make_unique<BlobFolder>(folder.path(), 0);
    options.quota_bytes = quota_bytes;
    options.unclaimed_us = 1'000'000;
    options.steady_us = [this] { return now_us; };
    auto opened = ArtifactStore::Open(std::move(options));
    REQUIRE(opened.ok());
    store = *std::move(opened);
  }
  absl::Status Put(const std::string& bytes) { return store->Put(DigestOf(bytes), bytes); }
  absl::StatusOr<std::string> Get(const std::string& bytes) {
    BlobBuffer into;
    const absl::Status status = store->Get(DigestOf(bytes), into);
    if (!status.ok()) return status;
    return std::string(into.bytes());
  }
  int64_t now_us = 0;
  std::unique_ptr<ArtifactStore> store;
};

fs::path FileOf(const TempFolder& folder, const std::string& bytes) {
  const std::string digest = DigestOf(bytes);
  return folder.path() / "blobs" / digest.substr(0, 2) / digest;
}

TEST_CASE("Artifact store: what was put is there, also for the next server", "[server]") {
  TempFolder folder;
  {
    Opened first(folder);
    REQUIRE(first.Put("hello").ok());
    REQUIRE(first.Put("hello").ok());
    CHECK(first.store->used_bytes() == 5);
  }
  Opened second(folder);
  CHECK(*second.Get("hello") == "hello");
  CHECK(second.store->Missing({DigestOf("hello"), DigestOf("other")}) ==
        std::vector<std::string>{DigestOf("other")});
  CHECK(second.store->used_bytes() == 5);
}

TEST_CASE("Artifact store: bytes that are not those of their digest are refused", "[server]") {
  TempFolder folder;
  Opened opened(folder);
  CHECK(absl::IsInvalidArgument(opened.store->Put(DigestOf("hello"), "hellp")));
  CHECK(absl::IsInvalidArgument(opened.store->Put(DigestOf(""), "")));
  const std::string big(kBlobBytes + 1, 'x');
  CHECK(absl::IsInvalidArgument(opened.Put(big)));
  CHECK(opened.store->used_bytes() == 0);
  CHECK(absl::IsNotFound(opened.Get("hello").status()));
}

TEST_CASE("Artifact store: nothing beyond the quota, and what is forgotten makes room", "[server]") {
  TempFolder folder;
  Opened opened(folder, 10);
  REQUIRE(opened.Put("12345678").ok());
  REQUIRE(opened.store->Claim(NameOf("12345678")));
  CHECK(absl::IsResourceExhausted(opened.Put("abc")));
  opened.store->Forget(DigestOf("12345678"));
  CHECK(opened.Put("abc").ok());
  opened.store->AwaitRemoval();
  CHECK_FALSE(fs::exists(FileOf(folder, "12345678")));
  CHECK(fs::exists(FileOf(folder, "abc")));
}

TEST_CASE("Artifact store: uploads that nobody finished give way once they are old", "[server]") {
  TempFolder folder;
  Opened opened(folder, 10);
  REQUIRE(opened.Put("12345678").ok());
  CHECK(absl::IsResourceExhausted(opened.Put("abc")));
  opened.now_us = 2'000'000;
  CHECK(opened.Put("abc").ok());
  CHECK_FALSE(opened.store->Claim(NameOf("12345678")));
}

TEST_CASE("Artifact store: a damaged file is found when it is read, reported, and removed", "[server]") {
  TempFolder folder;
  Opened opened(folder);
  std::vector<std::string> lost;
  opened.store->OnLoss([&](const std::string& digest) { lost.push_back(digest); });
  REQUIRE(opened.Put("hello").ok());
  const fs::path file = FileOf(folder, "hello");
  SECTION("a flipped byte") { std::ofstream(file) << "jello"; }
  SECTION("cut short") { fs::resize_file(file, 3); }
  SECTION("longer") { std::ofstream(file, std::ios::app) << "!"; }
  SECTION("removed") { fs::remove(file); }
  CHECK(absl::IsDataLoss(opened.Get("hello").status()));
  CHECK(lost == std::vector<std::string>{DigestOf("hello")});
  CHECK_FALSE(opened.store->Claim(NameOf("hello")));
  REQUIRE(opened.Put("hello").ok());
  CHECK(*opened.Get("hello") == "hello");
}

TEST_CASE("Artifact store: a file that cannot be read for a time is kept", "[server]") {
  TempFolder folder;
  Opened opened(folder);
  std::vector<std::string> lost;
  opened.store->OnLoss([&](const std::string& digest) { lost.push_back(digest); });
  REQUIRE(opened.Put("hello").ok());
  const fs::path file = FileOf(folder, "hello"), aside = folder.path() / "aside";
  fs::rename(file, aside);
  fs::create_directory(file);  // it can be opened, and read() is an error
  const absl::Status failed = opened.Get("hello").status();
  CHECK(absl::IsUnavailable(failed));
  CHECK(failed.message().find("cannot read") != std::string_view::npos);
  fs::remove(file);
  fs::rename(aside, file);
  CHECK(*opened.Get("hello") == "hello");
  CHECK(lost.empty());
  CHECK(opened.store->Claim(NameOf("hello")));
}

TEST_CASE("Artifact store: what a killed server was writing is removed", "[server]") {
  TempFolder folder;
  const fs::path file = FileOf(folder, "hello");
  fs::create_directories(file.parent_path());
  fs::path draft = file;
  draft += ".1.part";
  std::ofstream(draft) << "hel";
  Opened opened(folder);
  CHECK_FALSE(fs::exists(draft));
  CHECK_FALSE(opened.store->Has(DigestOf("hello")));
}

TEST_CASE("Artifact store: a blob of another size is not claimed", "[server]") {
  TempFolder folder;
  Opened opened(folder);
  REQUIRE(opened.Put("hello").ok());
  v1::BlobName name = NameOf("hello");
  CHECK(opened.store->Claim(name));
  name.set_size(4);
  CHECK_FALSE(opened.store->Claim(name));
}

}  // namespace
}  // namespace winnow
