#include <cstdlib>

#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "tests/support/small_disk.h"

namespace winnow {
namespace {

constexpr int64_t kDiskBytes = 8 << 20;

// While it lives, temporary folders are made in `folder`.
class TemporaryIn {
 public:
  explicit TemporaryIn(const std::string& folder) {
    if (const char* old = getenv("TMPDIR")) old_ = old;
    setenv("TMPDIR", folder.c_str(), 1);
  }
  ~TemporaryIn() { old_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", old_.c_str(), 1); }

 private:
  std::string old_;
};

TEST_CASE("Full disk: reports are refused until there is room, read all the while, and none is lost",
          "[server]") {
  SmallDisk disk(kDiskBytes);
  if (!disk.mounted()) return Skip("this process may not mount a file system");
  const TemporaryIn here(disk.folder());
  Play play;
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(RandomJob(1, 1000));
  REQUIRE(worker.Tell().ok());
  int64_t acknowledged = 0;
  auto train = [&] {
    worker.Train();
    const absl::Status status = worker.Tell();
    if (status.ok()) acknowledged = worker.running.begin()->second.reached;
    return status;
  };
  for (int i = 0; i < 20; ++i) REQUIRE(train().ok());

  disk.Fill();
  absl::Status status = train();
  for (int i = 0; i < 200 && status.ok(); ++i)
    status = train();  // the log may have had room in its last block
  REQUIRE(status.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(status.message()), Catch::StartsWith("not recorded, send it again: ") &&
                                                Catch::Contains("w.db") && Catch::Contains("disk is full"));
  for (int i = 0; i < 5; ++i) CHECK(train().code() == absl::StatusCode::kUnavailable);
  CHECK(play.Describe(id).spend().resource() == acknowledged);

  play.Restart();
  CHECK(play.Describe(id).spend().resource() == acknowledged);

  disk.Clear();
  play.Tick(0);
  REQUIRE(train().ok());
  CHECK(play.Describe(id).spend().resource() == acknowledged);
  CHECK(worker.running.begin()->second.assignment.attempt() == 1);
  play.CheckStored();
}

}  // namespace
}  // namespace winnow
