#include "server/host/local_workers.h"

#include <poll.h>
#include <signal.h>

#include <condition_variable>
#include <fstream>
#include <thread>

#include "checkout.h"
#include "server/host/own_files.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Lines of a supervisor, to wait for.
class Lines {
 public:
  std::function<void(const std::string&)> log() {
    return [this](const std::string& line) {
      std::lock_guard lock(mutex_);
      all_ += line + "\n";
      changed_.notify_all();
    };
  }
  bool WaitFor(const std::string& words) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30),
                             [&] { return all_.find(words) != std::string::npos; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string all_;
};

// Real workers; nobody listens where they look for a server.
LocalWorkersOptions Options(const TempFolder& folder, Lines& lines, int count, int slots = 1) {
  LocalWorkersOptions options;
  options.count = count;
  options.slots = slots;
  options.server = "127.0.0.1:1";
  options.port = 1;
  options.program = WINNOW_BIN_DIR "/winnow-worker";
  options.state_dir = folder.path();
  options.log = lines.log();
  return options;
}

// Waits until the worker holds its lock.
std::unique_ptr<WorkerProcess> Find(const fs::path& work_dir) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto worker = WorkerProcess::Adopt(work_dir)) return worker;
    std::this_thread::yield();
  }
  FAIL("no worker in " << work_dir);
  return nullptr;
}

TEST_CASE("Local workers: one that dies is started anew, a stop ends all", "[server]") {
  TempFolder folder;
  Lines lines;
  auto workers = LocalWorkers::Start(Options(folder, lines, 2));
  INFO(workers.status().ToString());
  REQUIRE(workers.ok());
  auto first = Find(folder.path() / "workers/local-1");
  Find(folder.path() / "workers/local-2");
  first->Signal(SIGKILL);
  CHECK(lines.WaitFor("worker local-1 was killed by signal 9"));
  CHECK(lines.WaitFor("worker local-1 (process"));
  auto second = Find(folder.path() / "workers/local-1");
  CHECK(second->pid() != first->pid());
  (*workers)->Stop(std::chrono::seconds(30));
  CHECK(WorkerProcess::Adopt(folder.path() / "workers/local-1") == nullptr);
  CHECK(WorkerProcess::Adopt(folder.path() / "workers/local-2") == nullptr);
}

// A killed server leaves a running worker.
std::unique_ptr<WorkerProcess> LeaveBehind(const TempFolder& folder, int slots) {
  fs::path dir = folder.path() / "workers/local-1";
  auto started = WorkerProcess::Start(
      {WINNOW_BIN_DIR "/winnow-worker", "--server", "127.0.0.1:1", "--name", "local-1", "--slots",
       std::to_string(slots), "--work-dir", dir.string(), "--shared-dir", (folder.path() / "shared").string(),
       "--rendezvous-port", "10041", "--offline-timeout", "600"},
      dir, dir / "worker.log");
  REQUIRE(started.ok());
  Find(dir);
  return *std::move(started);
}

TEST_CASE("Local workers: one of an earlier server is adopted", "[server]") {
  TempFolder folder;
  Lines lines;
  auto left = LeaveBehind(folder, 1);
  auto workers = LocalWorkers::Start(Options(folder, lines, 1));
  REQUIRE(workers.ok());
  CHECK(lines.WaitFor("is still running"));
  CHECK(Find(folder.path() / "workers/local-1")->pid() == left->pid());
  (*workers)->Stop(std::chrono::seconds(30));
  CHECK(left->Reap() == "ended with exit code 0");
}

TEST_CASE("Local workers: one that was started with other flags is replaced, one too many is ended",
          "[server]") {
  TempFolder folder;
  Lines lines;
  auto left = LeaveBehind(folder, 3);
  int count = GENERATE(0, 1);
  auto workers = LocalWorkers::Start(Options(folder, lines, count));
  REQUIRE(workers.ok());
  pollfd end = {left->descriptor(), POLLIN, 0};
  CHECK(poll(&end, 1, 30'000) == 1);
  left->Reap();
  if (count == 1) {
    CHECK(lines.WaitFor("is replaced"));
    CHECK(lines.WaitFor("is started"));
    CHECK(Find(folder.path() / "workers/local-1")->pid() != left->pid());
  }
  (*workers)->Stop(std::chrono::seconds(30));
}

TEST_CASE("Local workers: the host's GPUs are divided among them, each to one", "[server]") {
  const auto divided = [](int devices, int workers) {
    std::vector<GpuDevice> all;
    for (int i = 0; i < devices; ++i) all.push_back({std::to_string(i), "", ""});
    std::string text;
    for (int i = 1; i <= workers; ++i) text += GpuListText(GpusOfWorker(all, i, workers)) + " ";
    return text;
  };
  CHECK(divided(8, 1) == "0,1,2,3,4,5,6,7 ");
  CHECK(divided(4, 2) == "0,1 2,3 ");
  CHECK(divided(5, 3) == "0 1,2 3,4 ");
  CHECK(divided(1, 2) == "none 0 ");
  CHECK(divided(0, 2) == "none none ");
}

TEST_CASE("Local workers: without the program there is a clear error", "[server]") {
  TempFolder folder;
  Lines lines;
  LocalWorkersOptions options = Options(folder, lines, 1);
  options.program = folder.path() / "winnow-worker";
  auto workers = LocalWorkers::Start(options);
  CHECK_THAT(std::string(workers.status().message()), Catch::Contains("winnow-worker does not exist"));
}

TEST_CASE("State folder: what another database left is set aside, the own is kept", "[server]") {
  TempFolder folder;
  Lines lines;
  fs::path checkpoint = folder.path() / "shared/jobs/job/trials/1/checkpoint/model";
  REQUIRE(PrepareStateDir(folder.path(), "aaaa", lines.log()).ok());
  fs::create_directories(checkpoint.parent_path());
  std::ofstream(checkpoint) << "old";
  REQUIRE(PrepareStateDir(folder.path(), "aaaa", lines.log()).ok());
  CHECK(fs::exists(checkpoint));
  REQUIRE(PrepareStateDir(folder.path(), "bbbb", lines.log()).ok());
  CHECK_FALSE(fs::exists(checkpoint));
  CHECK(fs::exists(folder.path() / "before-aaaa/shared/jobs/job/trials/1/checkpoint/model"));
  CHECK(lines.WaitFor("belonged to another database"));
}

TEST_CASE("State folder: what was set aside for another database comes back with its own", "[server]") {
  TempFolder folder;
  Lines lines;
  const auto file = [&](const std::string& name) { return folder.path() / "artifacts" / name; };
  REQUIRE(PrepareStateDir(folder.path(), "aaaa", lines.log()).ok());
  fs::create_directories(file(""));
  std::ofstream(file("of-a")) << "a";
  REQUIRE(PrepareStateDir(folder.path(), "bbbb", lines.log()).ok());
  fs::create_directories(file(""));
  std::ofstream(file("of-b")) << "b";
  for (int i = 0; i < 2; ++i) {
    REQUIRE(PrepareStateDir(folder.path(), "aaaa", lines.log()).ok());
    CHECK(fs::exists(file("of-a")));
    CHECK_FALSE(fs::exists(file("of-b")));
    CHECK_FALSE(fs::exists(folder.path() / "before-aaaa"));
    REQUIRE(PrepareStateDir(folder.path(), "bbbb", lines.log()).ok());
    CHECK(fs::exists(file("of-b")));
    CHECK_FALSE(fs::exists(file("of-a")));
  }
  CHECK(lines.WaitFor("has its own content again"));
}

}  // namespace
}  // namespace winnow
