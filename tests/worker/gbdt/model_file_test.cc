#include "worker/gbdt/model_file.h"

#include <cmath>
#include <fstream>

#include "tests/catch.h"
#include "tests/worker/gbdt/sample_data.h"
#include "tests/worker/temp_folder.h"
#include "worker/gbdt/status_text.h"

namespace winnow {
namespace {

GbdtModel SmallModel() {
  GbdtModel model;
  model.parameters = LogisticParameters();
  model.reading.label = "y";
  model.reading.drop = {"id"};
  model.schema.columns = {{"colour", true, {"blue", "red"}}, {"size \"in\"", false, {}}};
  model.schema.label_levels = {"no", "yes"};
  model.feature_names = {"colour_blue", "colour_red", "size \"in\""};
  Tree tree;
  tree.nodes = {
      {2, 1, 0.1f, true, 0, 3.5f, 7}, {-1, 0, 0, false, -0.3333333f, 0, 4}, {-1, 0, 0, false, 1e-30f, 0, 3}};
  model.trees = {tree, tree};
  model.trees[1].nodes[0].threshold = -3.4028235e38f;
  return model;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("ModelFile: a model reads back as it was", "[gbdt]") {
  const GbdtModel model = SmallModel();
  const absl::StatusOr<GbdtModel> read = ParseModel(ModelText(model));
  REQUIRE(read.ok());
  CHECK(ModelText(*read) == ModelText(model));
  CHECK(read->trees[0].nodes[1].value == -0.3333333f);
  CHECK(read->trees[1].nodes[0].threshold == -3.4028235e38f);
  CHECK(read->schema.columns[0].levels == std::vector<std::string>{"blue", "red"});
  CHECK(read->reading.drop == std::vector<std::string>{"id"});
}

TEST_CASE("ModelFile: every float comes back bit for bit", "[gbdt]") {
  GbdtModel model = SmallModel();
  for (uint32_t i = 0; i < 20'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(HashOf(4, i)));
    Tree::Node& node = model.trees[0].nodes[1];
    if (!std::isfinite(value)) continue;
    if (i % 64 != 0) {  // many in one tree, by further leaves
      Tree::Node more = node;
      more.value = value;
      model.trees[0].nodes.push_back(more);
    }
  }
  const absl::StatusOr<GbdtModel> read = ParseModel(ModelText(model));
  REQUIRE(read.ok());
  REQUIRE(read->trees[0].nodes.size() == model.trees[0].nodes.size());
  int wrong = 0;
  for (std::size_t i = 0; i < model.trees[0].nodes.size(); ++i)
    wrong += read->trees[0].nodes[i].value != model.trees[0].nodes[i].value;
  CHECK(wrong == 0);
}

TEST_CASE("ModelFile: malformed models are refused with what is wrong", "[gbdt]") {
  const std::string good = ModelText(SmallModel());
  const struct {
    std::string text;
    const char* expected;
  } kCases[] = {
      {"", "not JSON, or cut short"},
      {good.substr(0, good.size() / 2), "not JSON, or cut short"},
      {"{}", "not a model of winnow-gbdt"},
      {"[]", "not a model of winnow-gbdt"},
      {Replaced(good, "\"version\":1", "\"version\":2"), "version 2: this program reads version 1"},
      {Replaced(good, "\"trees\"", "\"threes\""), "trees"},
      {Replaced(good, "\"feature\":[2,", "\"feature\":[3,"), "feature 3 of 3"},
      {Replaced(good, "\"feature\":[2,", "\"feature\":["), "lists differ in length"},
      {Replaced(good, "\"left\":[1,", "\"left\":[0,"), "node 0 of a tree has child 0"},
      {Replaced(good, "\"left\":[1,", "\"left\":[2,"), "node 0 of a tree has child 2"},
      {Replaced(good, "\"left\":[1,", "\"left\":[\"x\","), "type must be number"},
      {Replaced(good, "\"best_round\":-1", "\"best_round\":9"), "best_round 9 of 2 rounds"},
      {Replaced(good, "\"eta\":\"0.3\"", "\"eta\":\"9\""), "hyperparameter eta = 9"},
  };
  for (const auto& c : kCases) {
    const absl::StatusOr<GbdtModel> read = ParseModel(c.text);
    INFO(c.text.substr(0, 80));
    REQUIRE_FALSE(read.ok());
    CHECK_THAT(MessageOf(read.status()), Catch::Contains(c.expected));
  }
}

TEST_CASE("ModelFile: a checkpoint keeps its history, also what is not a number", "[gbdt]") {
  const GbdtCheckpoint checkpoint{
      SmallModel(), 0xfedcba9876543210u, {"train-auc"}, {{0.1f}, {std::nanf("")}}, true};
  const absl::StatusOr<GbdtCheckpoint> read = ParseCheckpoint(CheckpointText(checkpoint));
  REQUIRE(read.ok());
  CHECK(CheckpointText(*read) == CheckpointText(checkpoint));
  CHECK(read->data_fingerprint == 0xfedcba9876543210u);
  CHECK(read->stopped_early);
  CHECK(std::isnan(read->history[1][0]));
  CHECK_FALSE(ParseCheckpoint(Replaced(CheckpointText(checkpoint), "[[0.1],[null]]", "[[0.1]]")).ok());
  CHECK_FALSE(ParseCheckpoint(Replaced(CheckpointText(checkpoint), "[null]", "[]")).ok());
}

TEST_CASE("ModelFile: the newest whole checkpoint counts, older ones go", "[gbdt]") {
  const TempFolder folder;
  const std::string path = (folder / "checkpoints").string();
  std::vector<std::string> warnings;
  CHECK(absl::IsNotFound(ReadNewestCheckpoint(path, &warnings).status()));
  GbdtCheckpoint checkpoint{SmallModel(), 1, {"m"}, {{1}, {2}}, false};
  REQUIRE(WriteCheckpoint(path, checkpoint).ok());
  checkpoint.model.trees.pop_back();
  checkpoint.history.pop_back();
  REQUIRE(WriteCheckpoint(path, checkpoint).ok());
  CHECK(ReadNewestCheckpoint(path, &warnings)->model.rounds() == 1);
  std::ofstream(path + "/checkpoint-00000007.json") << "{\"format\":";
  std::ofstream(path + "/checkpoint-00000009.json.part") << "{";
  CHECK(ReadNewestCheckpoint(path, &warnings)->model.rounds() == 1);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("checkpoint-00000007.json: malformed"));
}

TEST_CASE("ModelFile: files that cannot be read or written are named", "[gbdt]") {
  const TempFolder folder;
  CHECK_THAT(MessageOf(ReadModel((folder / "none.json").string()).status()),
             Catch::Contains("none.json: cannot open"));
  std::ofstream(folder / "file") << "x";
  CHECK_FALSE(WriteFileWhole((folder / "file/model.json").string(), "x").ok());
  CHECK_THAT(MessageOf(ReadModel((folder / "file").string()).status()), Catch::Contains("/file: malformed"));
  REQUIRE(WriteFileWhole((folder / "a/b/model.json").string(), "text").ok());
  CHECK(ReadAll(folder / "a/b/model.json") == "text");
}

}  // namespace
}  // namespace winnow
