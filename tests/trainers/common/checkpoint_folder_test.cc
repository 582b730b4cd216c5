// Checkpoints in a directory that workers share: a trial that its worker has lost is trained there by another
// process, which may be further.

#include "trainers/common/checkpoint_folder.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "trainers/common/training_run.h"
#include "trainers/common/whole_file.h"

namespace winnow {
namespace {

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

constexpr char kMine[] = "mine";  // what a checkpoint of ContinuedRun has

absl::StatusOr<std::string> ParseMine(std::string_view text) {
  if (text == kMine) return std::string(text);
  return absl::InvalidArgumentError("damaged");
}

absl::StatusOr<std::string> ReadMine(const std::string& folder, std::vector<std::string>* warnings) {
  return ReadNewestCheckpoint(folder, ".c", ParseMine, warnings);
}

std::string TextOfMine(const std::string& checkpoint) { return checkpoint; }

// A run of two levels without any work, whose model is a file "model". After its first level another process
// writes `meanwhile`, unless that is empty.
class ContinuedRun : public TrainingRun {
 public:
  ContinuedRun(const TrainFiles& files, Communicator* ranks, const std::atomic<bool>& stop, std::FILE* out,
               std::string misfit, std::string meanwhile)
      : TrainingRun("test", "level", files, ranks, stop, out, out),
        misfit_(std::move(misfit)),
        meanwhile_(std::move(meanwhile)) {}

 private:
  ToldThings Told() const override { return {}; }
  absl::Status LoadAndTrain() override {
    const auto found = FindCheckpoint<std::string>(ReadMine, TextOfMine, ParseMine,
                                                   [this](const std::string&) { return misfit_; });
    if (!found.ok()) return found.status();
    const absl::Status status = TrainLevels([this] {
      if (++done_ > 1 || meanwhile_.empty()) return absl::OkStatus();
      return WriteFileWhole(files_.checkpoint_folder + "/" + meanwhile_, "theirs");
    });
    return status.ok() ? Finish() : status;
  }
  int64_t done() const override { return done_; }
  int64_t target() const override { return 2; }
  bool stopped_early() const override { return false; }
  const std::vector<std::string>& metric_names() const override { return names_; }
  std::vector<float> ValuesAt(int64_t) const override { return {}; }
  void StopEarlyIfDue() override {}
  absl::Status WriteCheckpoint(const std::set<std::string>& begun_with) override {
    return WriteCheckpointFile(files_.checkpoint_folder, done_, ".c", kMine, begun_with);
  }
  absl::Status WriteModel() override { return WriteFileWhole(files_.model_folder + "/model", kMine); }

  const std::string misfit_, meanwhile_;
  const std::vector<std::string> names_;
  int64_t done_ = 0;
};

struct Trial {
  Trial() {
    files.checkpoint_folder = (folder / "checkpoint").string();
    files.model_folder = (folder / "model").string();
  }
  void Run(const std::string& misfit = "", const std::string& meanwhile = "") {
    const std::atomic<bool> stop{false};
    const auto alone = MakeSoleRank();
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen("/dev/null", "w"), std::fclose);
    CHECK(ContinuedRun(files, alone.get(), stop, out.get(), misfit, meanwhile).Run().ok());
  }
  bool HasModel() const { return std::filesystem::exists(folder / "model/model"); }

  TempFolder folder;
  TrainFiles files;
};

}  // namespace

TEST_CASE("Checkpoints: one of a lower level leaves what another process has written", "[trainer]") {
  const TempFolder folder;
  const std::string place = folder.path().string();
  REQUIRE(WriteCheckpointFile(place, 11, ".c", "eleven").ok());
  REQUIRE(WriteFileWhole(place + "/checkpoint-00000040.c", "forty").ok());
  REQUIRE(WriteCheckpointFile(place, 12, ".c", "twelve").ok());
  CHECK(NamesIn(place) == std::vector<std::string>{"checkpoint-00000012.c", "checkpoint-00000040.c"});
  CHECK(*ReadWholeFile(place + "/checkpoint-00000040.c") == "forty");
  // Another name of the same level is replaced.
  REQUIRE(WriteFileWhole(place + "/checkpoint-41.c", "by hand").ok());
  REQUIRE(WriteCheckpointFile(place, 41, ".c", "next").ok());
  CHECK(NamesIn(place) == std::vector<std::string>{"checkpoint-00000041.c"});
}

TEST_CASE("Checkpoints: those that training cannot go on from are replaced by lower ones", "[trainer]") {
  Trial trial;
  const std::string text = GENERATE(as<std::string>(), "damaged", kMine);
  REQUIRE(WriteCheckpointFile(trial.files.checkpoint_folder, 40, ".c", text).ok());
  trial.Run("was made with eta = 1, not 2");
  CHECK(NamesIn(trial.files.checkpoint_folder) == std::vector<std::string>{"checkpoint-00000002.c"});
  CHECK(trial.HasModel());
}

TEST_CASE("Checkpoints: a run that another process has overtaken leaves it checkpoint and model",
          "[trainer]") {
  Trial trial;
  SECTION("overtaken") {
    trial.Run("", "checkpoint-00000040.c");
    CHECK(NamesIn(trial.files.checkpoint_folder) ==
          std::vector<std::string>{"checkpoint-00000002.c", "checkpoint-00000040.c"});
    CHECK_FALSE(trial.HasModel());
  }
  SECTION("by one whose checkpoint is not complete") {
    trial.Run("", "checkpoint-00000040.c.part");
    CHECK(trial.HasModel());
  }
  SECTION("not overtaken") {
    trial.Run("", "checkpoint-00000001.c");
    CHECK(NamesIn(trial.files.checkpoint_folder) == std::vector<std::string>{"checkpoint-00000002.c"});
    CHECK(trial.HasModel());
  }
}

}  // namespace winnow
