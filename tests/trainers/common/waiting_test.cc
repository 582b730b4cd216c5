// What a built-in trainer does between two parts in one process: it says that it waits, and saves meanwhile.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "trainers/common/checkpoint_folder.h"
#include "trainers/common/control.h"
#include "trainers/common/training_run.h"
#include "trainers/common/whole_file.h"

namespace winnow {
namespace {

// The worker's end of a control socket whose other end WINNOW_CONTROL_FD names.
class Worker {
 public:
  Worker() {
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) == 0);
    setenv("WINNOW_CONTROL_FD", std::to_string(ends_[1]).c_str(), 1);
  }
  ~Worker() {
    Close();
    unsetenv("WINNOW_CONTROL_FD");
  }
  void Say(const std::string& words) {
    REQUIRE(send(ends_[0], words.data(), words.size(), 0) == static_cast<ssize_t>(words.size()));
  }
  std::string Heard() {
    std::array<char, 256> buffer;
    const ssize_t got = read(ends_[0], buffer.data(), buffer.size());
    return got > 0 ? std::string(buffer.data(), got) : "";
  }
  void Close() {
    if (ends_[0] >= 0) close(std::exchange(ends_[0], -1));
  }

 private:
  std::array<int, 2> ends_;
};

std::vector<std::string> FilesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// A training run of five levels without any work. It sets `stop` after its first checkpoint.
class StoppedRun : public TrainingRun {
 public:
  StoppedRun(const TrainFiles& files, Communicator* ranks, std::atomic<bool>* stop, std::FILE* out)
      : TrainingRun("test", "level", files, ranks, *stop, out, out), told_to_stop_(*stop) {}

 private:
  ToldThings Told() const override { return {}; }
  absl::Status LoadAndTrain() override {
    return TrainLevels([this] {
      ++done_;
      return absl::OkStatus();
    });
  }
  int64_t done() const override { return done_; }
  int64_t target() const override { return UpToResource(5); }
  bool stopped_early() const override { return false; }
  const std::vector<std::string>& metric_names() const override { return names_; }
  std::vector<float> ValuesAt(int64_t) const override { return {}; }
  void StopEarlyIfDue() override {}
  absl::Status WriteCheckpoint(const std::set<std::string>& begun_with) override {
    const absl::Status status =
        WriteCheckpointFile(files_.checkpoint_folder, done_, ".c", "state", begun_with);
    told_to_stop_ = true;
    return status;
  }
  absl::Status WriteModel() override { return absl::OkStatus(); }

  std::atomic<bool>& told_to_stop_;
  const std::vector<std::string> names_;
  int64_t done_ = 0;
};

}  // namespace

TEST_CASE("Control: orders come line by line, and the end of the stream is one", "[trainer]") {
  Worker worker;
  Control control;
  REQUIRE(control.is_open());
  control.Saves(10);
  worker.Say("continue 30 WINNOW_ATTEMPT=2 WINNOW_RESOURCE_TO=30\ncontinue 0\n");
  CHECK(control.Wait(10) == 30);
  CHECK(control.Wait(30) == 0);
  CHECK(worker.Heard() == "saving 10\nwaiting 10\nwaiting 30\n");
  SECTION("told to end") { worker.Say("end\n"); }
  SECTION("an order that is not known") { worker.Say("continue -1\n"); }
  SECTION("the worker is gone") { worker.Close(); }
  CHECK_FALSE(control.Wait(50).has_value());
}

TEST_CASE("Control: what is not a socket is none", "[trainer]") {
  const std::string value = GENERATE(as<std::string>(), "", "x", "-1", "1000000", "99999999999999999999");
  setenv("WINNOW_CONTROL_FD", value.c_str(), 1);
  CHECK_FALSE(Control().is_open());
  const int file = open("/dev/null", O_RDONLY);
  setenv("WINNOW_CONTROL_FD", std::to_string(file).c_str(), 1);
  CHECK_FALSE(Control().is_open());
  close(file);
  unsetenv("WINNOW_CONTROL_FD");
  CHECK_FALSE(Control().is_open());
}

TEST_CASE("LateSync: a checkpoint is there at once, and the older one goes when it is on disk", "[trainer]") {
  TempFolder folder;
  const std::string place = folder.path().string();
  REQUIRE(WriteCheckpointFile(place, 1, ".c", "one").ok());
  LateSync late;
  {
    const LateSync::Scope beside(&late);
    REQUIRE(WriteCheckpointFile(place, 2, ".c", "two").ok());
  }
  CHECK(*ReadWholeFile(place + "/checkpoint-00000002.c") == "two");
  CHECK(FilesIn(place) == std::vector<std::string>{"checkpoint-00000001.c", "checkpoint-00000002.c"});
  late.Begin();
  CHECK(late.Await().ok());
  CHECK(FilesIn(place) == std::vector<std::string>{"checkpoint-00000002.c"});

  // What another process has written meanwhile is not its own to remove.
  {
    const LateSync::Scope beside(&late);
    REQUIRE(WriteCheckpointFile(place, 3, ".c", "three").ok());
  }
  REQUIRE(WriteFileWhole(place + "/checkpoint-00000009.c", "nine").ok());
  late.Begin();
  CHECK(late.Await().ok());
  CHECK(FilesIn(place) == std::vector<std::string>{"checkpoint-00000003.c", "checkpoint-00000009.c"});
  // Two before the first is on disk.
  for (const char* text : {"four", "five"}) {
    const LateSync::Scope beside(&late);
    REQUIRE(WriteCheckpointFile(place, text[1] == 'o' ? 4 : 5, ".c", text).ok());
    late.Begin();
  }
  CHECK(late.Await().ok());
  CHECK(FilesIn(place) == std::vector<std::string>{"checkpoint-00000005.c", "checkpoint-00000009.c"});
  // Outside the scope all is as ever.
  REQUIRE(WriteCheckpointFile(place, 10, ".c", "ten").ok());
  CHECK(FilesIn(place) == std::vector<std::string>{"checkpoint-00000010.c"});
}

// The older checkpoint goes when the new one is on disk.
TEST_CASE("TrainingRun: what it has saved before a stop that prevents its wait is on disk at the end",
          "[trainer]") {
  const TempFolder folder;
  Worker worker;
  TrainFiles files;
  files.checkpoint_folder = folder.path().string();
  files.resource_to = 2;
  REQUIRE(WriteCheckpointFile(files.checkpoint_folder, 1, ".c", "older").ok());
  std::atomic<bool> stop{false};
  const auto alone = MakeSoleRank();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen("/dev/null", "w"), std::fclose);
  CHECK(StoppedRun(files, alone.get(), &stop, out.get()).Run().ok());
  CHECK(worker.Heard() == "saving 2\n");
  CHECK(FilesIn(folder.path()) == std::vector<std::string>{"checkpoint-00000002.c"});
}

}  // namespace winnow
