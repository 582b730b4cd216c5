#include "trainers/data/content_key.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/trainers/data/data_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

CacheFolder Cache(const DataFolder& folder) {
  absl::StatusOr<CacheFolder> cache = CacheFolder::Open(folder.path("cache"), 1 << 20);
  REQUIRE(cache.ok());
  return *std::move(cache);
}

ContentKey KeyOf(const std::vector<std::string>& files, const DataOptions& options = {},
                 std::string_view extra = "", const CacheFolder* memo = nullptr, int threads = 1) {
  absl::StatusOr<ContentKey> key = KeyOfFiles(files, options, extra, memo, threads);
  INFO(key.status());
  REQUIRE(key.ok());
  return *std::move(key);
}

int Memos(const CacheFolder& cache) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(cache.path())) count += entry.path().extension() == ".memo";
  return count;
}

TEST_CASE("ContentKey: names content, options and extra text, not the folder", "[data]") {
  DataFolder folder;
  const std::string a = folder.Write("a/t.csv", "y,a\n1,2\n"), same = folder.Write("b/t.csv", "y,a\n1,2\n"),
                    other = folder.Write("c/t.csv", "y,a\n1,3\n"),
                    renamed = folder.Write("u.csv", "y,a\n1,2\n");
  const std::string key = KeyOf({a}).text();
  CHECK(KeyOf({same}).text() == key);
  CHECK(KeyOf({other}).text() != key);
  CHECK(KeyOf({renamed}).text() != key);  // a name may tell the format
  CHECK(KeyOf({a, other}).text() != KeyOf({other, a}).text());
  CHECK(KeyOf({a}, Label("a")).text() != key);
  DataOptions options;
  options.categorical = true;
  CHECK(KeyOf({a}, options).text() != key);
  options = {};
  options.training_weight = "w";
  CHECK(KeyOf({a}, options).text() != key);
  CHECK(KeyOf({a}, {}, "256 bins").text() != key);
}

TEST_CASE("ContentKey: does not depend on the number of threads", "[data]") {
  DataFolder folder;
  std::string text(40 << 20, 'x');
  text[20 << 20] = 'y';
  const std::string path = folder.Write("t.csv", text);
  const std::string key = KeyOf({path}).text();
  CHECK(KeyOf({path}, {}, "", nullptr, 3).text() == key);
  text[39 << 20] = 'z';
  CHECK(KeyOf({folder.Write("t.csv", text)}, {}, "", nullptr, 3).text() != key);
}

TEST_CASE("ContentKey: an old file is read once, and again when it was replaced by one of its size",
          "[data]") {
  DataFolder folder;
  const CacheFolder cache = Cache(folder);
  const std::string path = folder.Write("t.csv", "y,a\n1,2\n");
  CHECK(KeyOf({path}, {}, "", &cache).text() == KeyOf({path}).text());
  CHECK(Memos(cache) == 0);  // modified just now: it may be again at the same time
  // A note as of a file that was long left alone: its times are part of the note.
  const std::string before = KeyOf({path}).text();
  folder.Write("new.csv", "y,a\n1,3\n");
  fs::rename(folder.path("new.csv"), path);
  CHECK(KeyOf({path}, {}, "", &cache).text() != before);
}

TEST_CASE("ContentKey: a note serves until the file changes", "[data]") {
  DataFolder folder;
  const CacheFolder cache = Cache(folder);
  const std::string old_file = "/etc/passwd";  // a file that nobody has changed for some seconds
  const std::string key = KeyOf({old_file}, {}, "", &cache).text();
  REQUIRE(Memos(cache) == 1);
  std::string memo_path;
  for (const auto& entry : fs::directory_iterator(cache.path())) {
    if (entry.path().extension() == ".memo") memo_path = entry.path().string();
  }
  std::ifstream in(memo_path);
  const std::string memo((std::istreambuf_iterator<char>(in)), {});
  const size_t hash_at = memo.find('\n') + 1;
  const auto with_memo = [&](const std::string& text) {
    std::ofstream(memo_path) << text;
    return KeyOf({old_file}, {}, "", &cache).text();
  };
  CHECK(with_memo(memo) == key);
  std::string edited = memo;
  edited.replace(hash_at, 64, std::string(64, 'f'));
  CHECK(with_memo(edited) != key);  // so it is the note that was asked
  std::string stale = edited;
  stale[hash_at + 65] = stale[hash_at + 65] == '9' ? '8' : '9';  // the size
  CHECK(with_memo(stale) == key);
  CHECK(with_memo(edited.substr(0, edited.size() - 1)) == key);  // cut short
  CHECK(with_memo("") == key);
}

TEST_CASE("ContentKey: a file that changes under the reading is noticed", "[data]") {
  DataFolder folder;
  const std::string path = folder.Write("t.csv", "y,a\n1,2\n");
  const ContentKey key = KeyOf({path});
  CHECK(key.CheckUnchanged().ok());
  // Another name changes the file's times only.
  fs::create_hard_link(path, path + ".linked");
  CHECK(key.CheckUnchanged().ok());
  folder.Write("t.csv", "y,a\n0,2\n");
  CHECK(key.CheckUnchanged().code() == absl::StatusCode::kAborted);
  folder.Write("t.csv", "y,a\n1,2\n0,3\n");
  CHECK(key.CheckUnchanged().code() == absl::StatusCode::kAborted);
  fs::remove(path);
  CHECK(key.CheckUnchanged().code() == absl::StatusCode::kNotFound);
  CHECK(KeyOfFiles({path}, {}, "", nullptr).status().code() == absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace winnow
