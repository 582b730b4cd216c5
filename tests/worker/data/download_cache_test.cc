#include "worker/data/download_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "artifact/digest.h"
#include "base/environment.h"
#include "fmt/format.h"
#include "tests/catch.h"
#include "tests/support/scripted_server.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUrl = "http://127.0.0.1:9/file";  // is not asked

std::string Key() { return DigestOf(kUrl).substr(0, 40); }

// As a download for the job leaves it.
void WriteDownload(const fs::path& folder, const std::string& job) {
  fs::create_directories(folder);
  std::ofstream(folder / Key()) << "data";
  std::ofstream(folder / (Key() + ".lock"));
  std::ofstream(folder / (Key() + ".info"))
      << fmt::format(R"({{"size": 4, "job": "{}", "start": "{}"}})", job, BootId());
}

OpenFile LockOf(const fs::path& path) {
  absl::StatusOr<OpenFile> lock = OpenFile::Open(path, O_RDWR | O_CREAT, 0600);
  REQUIRE(lock.ok());
  REQUIRE(flock(lock->descriptor(), LOCK_EX | LOCK_NB) == 0);
  return *std::move(lock);
}

// During its life, this thread opens files without the rights of root.
class NoRoot {
 public:
  NoRoot() {
    if (geteuid() == 0) setfsuid(kUser);
  }
  ~NoRoot() { setfsuid(geteuid()); }
  NoRoot(const NoRoot&) = delete;
  NoRoot& operator=(const NoRoot&) = delete;

  static void Own(const fs::path& path) {
    if (geteuid() == 0) REQUIRE(chown(path.c_str(), kUser, kUser) == 0);
  }

 private:
  static constexpr uid_t kUser = 65534;
};

}  // namespace

TEST_CASE("a download of which all was there when its worker was killed goes on") {
  const TempFolder folder;
  NoRoot::Own(folder.path());
  const NoRoot user;
  ScriptedServer server([](const ScriptedRequest& request, ScriptedReply& reply) {
    const auto range = request.headers.find("range");
    const bool is_last = range != request.headers.end() && range->second == "bytes=3-";
    reply.Send(is_last ? 206 : 200, is_last ? "a" : "data",
               std::string("ETag: \"1\"\r\n") + (is_last ? "Content-Range: bytes 3-3/4\r\n" : ""));
  });
  const std::string url = server.url() + "/file", key = DigestOf(url).substr(0, 40);
  const fs::path files = folder / "files", part = files / (key + ".part");
  DownloadCache cache(files, 1 << 20);
  std::ofstream(part) << "data";
  REQUIRE(chmod(part.c_str(), 0444) == 0);
  std::ofstream(files / (key + ".part.info"))
      << fmt::format(R"({{"size": 4, "etag": "\"1\"", "job": "job", "start": "{}"}})", BootId());
  const fs::path linked = folder / "linked";
  const Cancellation never;
  const absl::Status status = cache.Link({{url, url}, "job", ""}, linked,
                                         {[](int64_t, int64_t) {}, [](const std::string&) {}}, never);
  CHECK(status.message() == "");
  CHECK(ReadAll(linked) == "data");
  struct stat about {};
  REQUIRE(stat(linked.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0444);
}

TEST_CASE("a download that is removed leaves nothing, nor does one that failed") {
  const TempFolder folder;
  WriteDownload(folder.path(), "job");
  std::ofstream(folder / (std::string(40, 'a') + ".lock"));  // nothing came
  DownloadCache cache(folder.path(), 0);
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("the lock of a download that goes on is not removed") {
  const TempFolder folder;
  const fs::path path = folder / (Key() + ".lock");
  const OpenFile lock = LockOf(path);
  DownloadCache cache(folder.path(), 0);
  CHECK(fs::exists(path));
}

TEST_CASE("who has waited for a lock whose file was removed meanwhile waits for the new one") {
  const TempFolder folder;
  DownloadCache cache(folder.path(), 1 << 20);
  WriteDownload(folder.path(), "job");
  std::ofstream(folder / (Key() + ".part"));  // its size is the progress of whoever waits for the lock
  const fs::path path = folder / (Key() + ".lock");
  std::optional<OpenFile> lock = LockOf(path);
  Cancellation cancellation;
  int told = 0;
  const auto progress = [&](int64_t, int64_t) {
    if (++told == 2) cancellation.Cancel();
    if (told > 1) return;
    fs::remove(path);
    lock = LockOf(path);
  };
  const absl::Status status = cache.Link({{kUrl, kUrl}, "job", ""}, folder / "linked",
                                         {progress, [](const std::string&) {}}, cancellation);
  CHECK(absl::IsCancelled(status));
  CHECK(told == 2);
}

}  // namespace winnow
