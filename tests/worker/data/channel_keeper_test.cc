#include "worker/data/channel_keeper.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>

#include "artifact/digest.h"
#include "fmt/format.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Whether a process waits for the lock of that file.
bool IsAwaited(const fs::path& path) {
  struct stat about {};
  REQUIRE(stat(path.c_str(), &about) == 0);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("-> FLOCK") != std::string::npos &&
        line.find(fmt::format(":{} ", about.st_ino)) != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a worker whose folder of views is being removed by another one waits, and makes it anew") {
  const TempFolder folder;
  const fs::path views = folder / "views" / DigestOf("worker").substr(0, 16);
  const fs::path lock_path = views.string() + ".lock";
  fs::create_directories(views.parent_path());
  // Another worker has found that nobody uses them.
  std::optional<OpenFile> other = *OpenFile::Open(lock_path, O_RDWR | O_CREAT, 0600);
  REQUIRE(flock(other->descriptor(), LOCK_EX | LOCK_NB) == 0);

  EventLoop loop;
  auto made = std::async(std::launch::async, [&] {
    return std::make_unique<ChannelKeeper>(&loop, ChannelPlace{.folder = folder.path(), .worker = "worker"});
  });
  while (!IsAwaited(lock_path) && made.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
  }
  fs::remove_all(views);
  fs::remove(lock_path);
  other.reset();

  const auto keeper = made.get();
  CHECK(fs::is_directory(views));
  const auto lock = OpenFile::Open(lock_path, O_RDWR);
  REQUIRE(lock.ok());
  CHECK(flock(lock->descriptor(), LOCK_EX | LOCK_NB) != 0);
}

}  // namespace winnow
