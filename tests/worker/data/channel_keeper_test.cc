#include "worker/data/channel_keeper.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>

#include "artifact/digest.h"
#include "base/environment.h"
#include "fmt/format.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/worker/run_until.h"

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

// A rank of a job of its own, with a channel at that URL.
ChannelsWanted RankOf(int job, const std::string& url) {
  ChannelsWanted wanted;
  wanted.assignment.set_id(fmt::format("{}.1.1", job));
  wanted.assignment.set_job_id(fmt::format("{}", job));
  v1::ChannelToPrepare* channel = wanted.assignment.add_channels();
  channel->set_name("train");
  channel->mutable_channel()->set_path(url);
  return wanted;
}

}  // namespace

TEST_CASE("many jobs that wait for one download hold up no other channel") {
  const TempFolder folder;
  const std::string large = "http://127.0.0.1:9/large", small = "http://127.0.0.1:9/small";
  const auto in_cache = [&folder](const std::string& url, const std::string& ending) {
    return folder / "files" / (DigestOf(url).substr(0, 40) + ending);
  };
  EventLoop loop;
  ChannelKeeper keeper(&loop,
                       ChannelPlace{.folder = folder.path(), .worker = "worker", .most_bytes = 1 << 20});
  // Another worker of the host downloads it, for as long as the test.
  const auto lock = OpenFile::Open(in_cache(large, ".lock"), O_RDWR | O_CREAT, 0600);
  REQUIRE(lock.ok());
  REQUIRE(flock(lock->descriptor(), LOCK_EX | LOCK_NB) == 0);
  // The other one is there.
  constexpr int kJobs = 20;
  std::ofstream(in_cache(small, "")) << "data";
  std::ofstream(in_cache(small, ".info"))
      << fmt::format(R"({{"size": 4, "job": "{}", "start": "{}"}})", kJobs, BootId());

  int waiting_jobs_done = 0;
  for (int job = 0; job < kJobs; ++job)
    keeper.Prepare(
        RankOf(job, large), [](const std::string&) {}, [&](const auto&) { ++waiting_jobs_done; });
  std::string path;
  keeper.Prepare(
      RankOf(kJobs, small), [](const std::string&) {},
      [&](const auto& prepared) {
        REQUIRE(prepared.ok());
        path = (*prepared)->paths.at("train");
      });
  REQUIRE(RunUntil(loop, [&path] { return !path.empty(); }));
  CHECK(ReadAll(path) == "data");
  CHECK(waiting_jobs_done == 0);
  keeper.Abandon(RankOf(0, large).assignment.id());
}

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
