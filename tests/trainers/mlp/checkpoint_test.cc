#include "trainers/mlp/model/checkpoint.h"

#include <cmath>
#include <fstream>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow::mlp {
namespace {

Checkpoint SampleCheckpoint() {
  Checkpoint checkpoint;
  checkpoint.hyperparameters = {{"optimizer", "adam"}, {"teacher", ""}};
  checkpoint.state = {{1, -0.0f, 1e-45f}, {{0.5f, 2, 3}, {4, 5, 6}}, {0.25f}, 77};
  checkpoint.extra = std::string("\0more\n", 6);
  checkpoint.epochs = 2;
  checkpoint.data_fingerprint = 0xfedcba9876543210;
  checkpoint.metric_names = {"loss", "auc"};
  checkpoint.history = {{0.1, NAN}, {INFINITY, 0.3}};
  checkpoint.stopped_early = true;
  checkpoint.best_epoch = 1;
  checkpoint.best = NetworkState{{7, 8, 9}, {}, {10}, 40};
  return checkpoint;
}

TEST_CASE("Checkpoint: reads back as it was, to the bit", "[mlp]") {
  const Checkpoint checkpoint = SampleCheckpoint();
  const absl::StatusOr<Checkpoint> read = ParseCheckpoint(CheckpointText(checkpoint));
  REQUIRE(read.ok());
  CHECK(CheckpointText(*read) == CheckpointText(checkpoint));
  CHECK(read->hyperparameters == checkpoint.hyperparameters);
  CHECK(read->state.slots[1] == checkpoint.state.slots[1]);
  CHECK(read->state.step == 77);
  CHECK(std::signbit(read->state.parameters[1]));
  CHECK(read->extra == checkpoint.extra);
  CHECK(read->data_fingerprint == checkpoint.data_fingerprint);
  CHECK(std::isnan(read->history[0][1]));
  CHECK(read->stopped_early);
  REQUIRE(read->best);
  CHECK(read->best->parameters == std::vector<float>{7, 8, 9});
}

TEST_CASE("Checkpoint: a bit that turned, or an end that is missing, is found", "[mlp]") {
  const std::string text = CheckpointText(SampleCheckpoint());
  for (std::size_t i = 0; i < text.size(); ++i) {
    INFO(i);
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    CHECK(absl::IsInvalidArgument(ParseCheckpoint(damaged).status()));
    CHECK(absl::IsInvalidArgument(ParseCheckpoint(text.substr(0, i)).status()));
  }
  CHECK(absl::IsInvalidArgument(ParseCheckpoint(text + '\0').status()));
  CHECK_THAT(MessageOf(ParseCheckpoint("{}").status()), Catch::Contains("not a checkpoint of winnow-mlp"));
}

TEST_CASE("Checkpoint: a history that is not of its epochs and metrics is refused", "[mlp]") {
  Checkpoint checkpoint = SampleCheckpoint();
  checkpoint.history[1].pop_back();
  CHECK_THAT(MessageOf(ParseCheckpoint(CheckpointText(checkpoint)).status()),
             Catch::Contains("1 values of history for 2 metrics"));
  checkpoint.history.pop_back();
  CHECK_THAT(MessageOf(ParseCheckpoint(CheckpointText(checkpoint)).status()),
             Catch::Contains("a history of 1 epochs after 2"));
}

TEST_CASE("Checkpoint: the newest whole one counts, older ones go", "[mlp]") {
  const TempFolder folder;
  const std::string path = (folder / "checkpoints").string();
  std::vector<std::string> warnings;
  CHECK(absl::IsNotFound(ReadNewestCheckpoint(path, &warnings).status()));
  Checkpoint checkpoint = SampleCheckpoint();
  REQUIRE(WriteCheckpoint(path, checkpoint).ok());
  checkpoint.epochs = 3;
  checkpoint.history.push_back({0.05, 0.9});
  REQUIRE(WriteCheckpoint(path, checkpoint).ok());
  CHECK_FALSE(std::filesystem::exists(path + "/checkpoint-00000002.mlp"));
  std::ofstream(path + "/checkpoint-00000007.mlp") << CheckpointText(checkpoint).substr(0, 100);
  std::ofstream(path + "/checkpoint-00000009.mlp.part") << "{";

  const absl::StatusOr<Checkpoint> read = ReadNewestCheckpoint(path, &warnings);
  REQUIRE(read.ok());
  CHECK(read->epochs == 3);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::Contains("checkpoint-00000007.mlp: damaged") && Catch::Contains("is ignored"));
}

}  // namespace
}  // namespace winnow::mlp
