// What a program has reported outlives the worker beside the checkpoint, for the next attempt to tell.

#include "worker/runs/kept_reports.h"

#include <fstream>

#include "tests/catch.h"
#include "tests/worker/fake_server.h"
#include "tests/worker/trainer_play.h"
#include "worker/runs/trial_directories.h"

namespace winnow {
namespace {

using Levels = std::vector<int64_t>;

struct KeptScene {
  KeptScene() { REQUIRE(MakeTrialDirectories(folder / "shared", "job", 1, Clearing::kNothing).ok()); }
  // Runs an attempt of the trial.
  TrainerPlay Play(int64_t attempt, int64_t from, int64_t to, const std::string& script) {
    v1::Assignment assignment =
        MakeAssignment("attempt-" + std::to_string(attempt), {"/bin/sh", "-c", script});
    assignment.set_resource_regex("epoch ([0-9]+)");
    assignment.set_attempt(attempt);
    assignment.set_resource_from(from);
    assignment.set_resource_to(to);
    return RunTrainer(&loop, folder, assignment, nullptr);
  }
  // Returns the levels that it told.
  Levels Run(int64_t attempt, int64_t from, int64_t to, const std::string& script) {
    const TrainerPlay play = Play(attempt, from, to, script);
    CHECK(play.outcome.kind() == v1::Outcome::FINISHED);
    Levels levels;
    for (const v1::Report& report : play.reports) {
      CHECK(report.assignment_id() == "attempt-" + std::to_string(attempt));
      CHECK(report.has_time());
      CHECK(report.metrics(0).value() == 1.0 / static_cast<double>(report.resource()));
      levels.push_back(report.resource());
    }
    return levels;
  }
  std::filesystem::path file() const { return folder / "shared/jobs/job/trials/1/reports"; }

  TempFolder folder;
  EventLoop loop;
};

constexpr char kTrainsToFour[] =
    "echo saved > $WINNOW_CHECKPOINT_DIR/at; echo epoch 1 loss=1; echo epoch 2 loss=0.5; echo epoch 4 "
    "loss=0.25";

TEST_CASE("KeptReports: an attempt first sends what the attempt before has reported of the same part",
          "[worker]") {
  KeptScene scene;
  REQUIRE(scene.Run(1, 0, 8, kTrainsToFour) == Levels{1, 2, 4});

  CHECK(scene.Run(2, 0, 8, "echo epoch 8 loss=0.125") == Levels{1, 2, 4, 8});
  CHECK(scene.Run(3, 2, 8, "true") == Levels{4, 8});
  CHECK(scene.Run(4, 2, 4, "true") == Levels{4});
}

TEST_CASE(
    "KeptReports: a new part, an attempt without a checkpoint and a first attempt send nothing of earlier "
    "ones",
    "[worker]") {
  KeptScene scene;
  REQUIRE(scene.Run(1, 0, 4, kTrainsToFour) == Levels{1, 2, 4});

  SECTION("of a finished part") {
    CHECK(scene.Run(2, 4, 8, "echo epoch 8 loss=0.125") == Levels{8});
    CHECK(scene.Run(3, 0, 8, "true") == Levels{8});
  }
  SECTION("without a checkpoint") {
    std::filesystem::remove(scene.folder / "shared/jobs/job/trials/1/checkpoint/at");
    CHECK(scene.Run(2, 0, 4, "echo epoch 1 loss=1") == Levels{1});
  }
  SECTION("of a first attempt") { CHECK(scene.Run(1, 0, 4, "echo epoch 1 loss=1") == Levels{1}); }
}

TEST_CASE("KeptReports: a level that several attempts have reported is sent once, with its first value",
          "[worker]") {
  KeptScene scene;
  REQUIRE(scene.Run(1, 0, 8, kTrainsToFour) == Levels{1, 2, 4});
  const std::string again = "echo epoch 2 loss=7; echo epoch 3 loss=0.333333333333333333";
  TrainerPlay second = scene.Play(2, 0, 8, again);
  CHECK(second.reports.size() == 5);  // three that are kept, and its own
  CHECK(scene.Run(3, 0, 8, "true") == Levels{1, 2, 3, 4});
}

TEST_CASE("KeptReports: a report that was cut when the worker was killed is left out, and more can be added",
          "[worker]") {
  KeptScene scene;
  REQUIRE(scene.Run(1, 0, 8, kTrainsToFour) == Levels{1, 2, 4});
  std::filesystem::resize_file(scene.file(), std::filesystem::file_size(scene.file()) - 1);

  CHECK(scene.Run(2, 0, 8, "echo epoch 8 loss=0.125") == Levels{1, 2, 8});
  CHECK(scene.Run(3, 0, 8, "true") == Levels{1, 2, 8});
}

TEST_CASE("KeptReports: a file that is none, and a folder in its place, change nothing", "[worker]") {
  KeptScene scene;
  REQUIRE(scene.Run(1, 0, 8, kTrainsToFour) == Levels{1, 2, 4});
  std::filesystem::remove(scene.file());
  SECTION("other bytes") { std::ofstream(scene.file()) << "\xff\xff\xff\xff\x0f no reports"; }
  SECTION("a folder") { std::filesystem::create_directory(scene.file()); }

  CHECK(scene.Run(2, 0, 8, "echo epoch 8 loss=0.125") == Levels{8});
}

}  // namespace
}  // namespace winnow
