#include "trainers/gbdt/model/model_file.h"

#include <cmath>
#include <fstream>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/trainers/gbdt/model_samples.h"
#include "trainers/common/whole_file.h"

namespace winnow::gbdt {
namespace {

constexpr ModelFormat kFormats[] = {ModelFormat::kJson, ModelFormat::kUbjson};

TEST_CASE("ModelFile: a model reads back as it was", "[gbdt]") {
  for (ModelFormat format : kFormats) {
    const Model model = SmallModel();
    const absl::StatusOr<Model> read = ParseModel(ModelText(model, format));
    REQUIRE(read.ok());
    CHECK(ModelText(*read, format) == ModelText(model, format));
    CHECK(read->trees[0].nodes[1].value == -0.3333333f);
    CHECK(read->trees[0].nodes[0].weight == 0.25f);
    CHECK(read->trees[1].nodes[0].threshold == -3.4028235e38f);
    CHECK(read->schema.columns[0].levels == std::vector<std::string>{"blue", "red"});
    CHECK(read->reading.drop == std::vector<std::string>{"id"});
  }
}

TEST_CASE("ModelFile: a column of numbers is its name, and was an object with it", "[gbdt]") {
  Model model = SmallModel();
  model.schema.columns[1].name = "width";
  const std::string text = ModelText(model);
  const std::string before = Replaced(text, R"(,\"width\"])",
                                      R"(,{\"categorical\":0,\"levels\":[],\"name\":\"width\",\"text\":0}])");
  const absl::StatusOr<Model> read = ParseModel(before);
  REQUIRE(read.ok());
  CHECK(ModelText(*read) == text);
}

TEST_CASE("ModelFile: weights of trees and categories read back as they were", "[gbdt]") {
  for (ModelFormat format : kFormats) {
    absl::StatusOr<Model> read = ParseModel(ModelText(DartModel(), format));
    REQUIRE(read.ok());
    CHECK(ModelText(*read, format) == ModelText(DartModel(), format));
    CHECK(read->tree_weights == std::vector<float>{0.75f, 0.1f});
    CHECK(read->trees[1].categories == std::vector<int32_t>{0, 40});
    DataSet data;
    data.columns = {{0, 1, 39.5f, 40.5f, -1, 2e9f}, {}, std::vector<float>(6, -4e37f)};
    read->trees[1].nodes[0].threshold = 0;
    std::vector<float> leaves;
    for (int64_t row = 0; row < 6; ++row) {
      leaves.push_back(read->trees[1].Predict(data, row));
    }
    CHECK(leaves == std::vector<float>{6, 5, 5, 6, 5, 5});
  }
}

TEST_CASE("ModelFile: hyperparameters read back as they were, also what a file of XGBoost has not",
          "[gbdt]") {
  Model model = SmallModel();
  model.parameters.num_class = 1;
  model.parameters.seed = 77;
  model.parameters.base_score = 0.1;
  model.parameters.base_score_given = true;
  model.best_round = 1;
  const absl::StatusOr<Model> read = ParseModel(ModelText(model));
  REQUIRE(read.ok());
  CHECK(ModelHyperparameters(read->parameters) == ModelHyperparameters(model.parameters));
  CHECK(read->parameters.base_score == 0.1);
  CHECK(read->best_round == 1);  // not -1, though it is the last: training stopped early
}

TEST_CASE("ModelFile: names that XGBoost refuses are written as it takes them, and read back as they were",
          "[gbdt]") {
  Model model = SmallModel();
  model.schema.columns = {{"a<b", true, {"[x]", "y"}, false}, {"a_b_y", false, {}, false}};
  model.feature_names = {"a<b_[x]", "a<b_y", "a_b_y"};
  for (ModelFormat format : kFormats) {
    const std::string text = ModelText(model, format);
    CHECK(text.find("a_b__x_") != std::string::npos);
    CHECK(text.find("a_b_y_2") != std::string::npos);  // the third has the name without a number
    const absl::StatusOr<Model> read = ParseModel(text);
    REQUIRE(read.ok());
    CHECK(read->feature_names == model.feature_names);
    CHECK(ModelText(*read, format) == text);
  }
}

TEST_CASE("ModelFile: an estimated base score stays one", "[gbdt]") {
  Model model = SmallModel();
  model.parameters.objective = ObjectiveKind::kAbsoluteError;
  model.parameters.metrics = {MetricKind::kMae};
  model.parameters.base_score = 0.3f;
  const absl::StatusOr<Model> read = ParseModel(ModelText(model));
  REQUIRE(read.ok());
  CHECK_FALSE(read->parameters.base_score_given);
  CHECK(read->parameters.base_score == 0.3f);
  CHECK(ModelHyperparameters(read->parameters) == ModelHyperparameters(model.parameters));
}

TEST_CASE("ModelFile: every float comes back bit for bit", "[gbdt]") {
  Model model = SmallModel();
  for (uint32_t i = 0; i < 20'000; ++i) {  // one leaf each, below a chain of splits
    const float value = std::bit_cast<float>(static_cast<uint32_t>(HashOf(4, i)));
    if (!std::isfinite(value)) continue;
    std::vector<Tree::Node>& nodes = model.trees[0].nodes;
    nodes.back() = nodes[0];
    nodes.back().left = static_cast<int32_t>(nodes.size());
    nodes.resize(nodes.size() + 2);
    nodes[nodes.size() - 2].value = value;
  }
  for (ModelFormat format : kFormats) {
    const absl::StatusOr<Model> read = ParseModel(ModelText(model, format));
    REQUIRE(read.ok());
    REQUIRE(read->trees[0].nodes.size() == model.trees[0].nodes.size());
    int wrong = 0;
    for (std::size_t i = 0; i < model.trees[0].nodes.size(); ++i)
      wrong += read->trees[0].nodes[i].value != model.trees[0].nodes[i].value;
    CHECK(wrong == 0);
  }
}

TEST_CASE("ModelFile: a model of more features than a damaged number may reserve memory for reads back",
          "[gbdt]") {
  constexpr std::size_t kFeatures = (1 << 22) + 1;
  for (const char* prefix : {"n", "column_"}) {  // named, and by position
    Model model;
    model.parameters = LogisticParameters();
    model.trees.resize(1);
    model.trees[0].nodes.resize(1);
    for (std::size_t f = 0; f < kFeatures; ++f) model.feature_names.push_back(prefix + std::to_string(f));
    const absl::StatusOr<Model> read = ParseModel(ModelText(model, ModelFormat::kUbjson));
    REQUIRE(read.ok());
    CHECK(read->feature_names.size() == kFeatures);
    CHECK(read->feature_names.back().ends_with(std::to_string(kFeatures - 1)));
  }
}

TEST_CASE("ModelFile: malformed models are refused with what is wrong", "[gbdt]") {
  const std::string good = ModelText(SmallModel());
  const std::string dart = ModelText(DartModel());
  const struct {
    std::string text;
    const char* expected;
  } kCases[] = {
      {"", "not JSON, or cut short"},
      {good.substr(0, good.size() / 2), "not JSON, or cut short"},
      {"{}", "no model of winnow-gbdt or XGBoost"},
      {"[]", "no model of winnow-gbdt or XGBoost"},
      {"{\n \"learner\": ]", "line 2, column 13: expected a value"},
      {std::string("binf\0\0\0?", 8), "a model of XGBoost's old binary format; expected JSON or UBJSON"},
      {"\x80\x04\x95\x8c\x0cxgboost.core\x94", "a model pickled by Python; expected JSON or UBJSON"},
      {std::string(100'000, '['), "nested too deep"},
      {"{L\1", "not UBJSON, or cut short"},
      {Replaced(good, "\\\"version\\\":2", "\\\"version\\\":3"), "version 3: this program reads version 2"},
      {Replaced(good, "\"trees\"", "\"threes\""), "there is no \"trees\""},
      {Replaced(good, "\"split_indices\":[2,", "\"split_indices\":[3,"),
       "tree 0: a tree asks for feature 3 of 3"},
      {Replaced(good, "\"split_indices\":[2,", "\"split_indices\":["),
       "split_indices of a tree of 3 nodes has 2"},
      {Replaced(good, "\"left_children\":[1,", "\"left_children\":[0,"), "node 0 of a tree has child 0"},
      {Replaced(good, "\"left_children\":[1,", "\"left_children\":[2,"), "node 2 of a tree has two parents"},
      {Replaced(good, "\"left_children\":[1,", "\"left_children\":[\"x\","),
       "left_children: expected a list of numbers"},
      {Replaced(good, "\"left_children\":[1,", "\"left_children\":[1.5,"),
       "left_children: expected whole numbers"},
      {Replaced(good, "\"tree_info\":[0,0]", "\"tree_info\":[0,1]"), "tree_info"},
      {Replaced(good, "\"name\":\"gbtree\"", "\"name\":\"gblinear\""), "only models of trees are read"},
      {Replaced(good, "\"num_target\":\"1\"", "\"num_target\":\"2\""), "several targets"},
      {Replaced(good, "\"name\":\"binary:logistic\"", "\"name\":\"rank:map\""), "objective = rank:map"},
      {Replaced(good, "\"base_score\":\"0.5\"", "\"base_score\":\"x\""), "base_score x: expected a number"},
      {Replaced(dart, "\"weight_drop\":[0.75,", "\"weight_drop\":["), "1 weights of 2 trees"},
      {Replaced(dart, "\"categories_sizes\":[2]", "\"categories_sizes\":[3]"),
       "the categories of node 1 are not there"},
      {Replaced(dart, "\"categories_nodes\":[1]", "\"categories_nodes\":[9]"), "categories of node 9"},
      {Replaced(dart, "\"categories_sizes\":[2]", "\"categories_sizes\":[0]"), "without categories"},
  };
  for (const auto& c : kCases) {
    const absl::StatusOr<Model> read = ParseModel(c.text);
    INFO(c.expected);
    REQUIRE_FALSE(read.ok());
    CHECK_THAT(MessageOf(read.status()), Catch::Contains(c.expected));
  }
}

TEST_CASE("ModelFile: a file that is cut anywhere is refused, one with a flipped bit never harms", "[gbdt]") {
  DataSet data;
  data.columns.assign(3, {-1, 0, 2, NAN});
  for (ModelFormat format : kFormats) {
    const std::string good = ModelText(DartModel(), format);
    const std::size_t end = good.find_last_of('}');  // a line's end may go
    int taken = 0;
    for (std::size_t at = 0; at <= end; ++at) {
      CHECK_FALSE(ParseModel(good.substr(0, at)).ok());
      std::string flipped = good;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << HashOf(1, at) % 8);
      const absl::StatusOr<Model> read = ParseModel(flipped);
      if (read.ok()) {
        for (const Tree& tree : read->trees) taken += tree.Predict(data, static_cast<int64_t>(at % 4)) < 7;
      } else {
        CHECK((absl::IsInvalidArgument(read.status()) || absl::IsUnimplemented(read.status())));
      }
    }
    CHECK(taken > 0);
  }
}

TEST_CASE("ModelFile: nodes in another order than ours are numbered anew", "[gbdt]") {
  const std::string good = ModelText(SmallModel());
  const std::string turned = Replaced(Replaced(good, "\"left_children\":[1,", "\"left_children\":[2,"),
                                      "\"right_children\":[2,", "\"right_children\":[1,");
  const absl::StatusOr<Model> read = ParseModel(turned);
  REQUIRE(read.ok());
  CHECK(read->trees[0].nodes[0].left == 1);
  CHECK(read->trees[0].nodes[1].value == 1e-30f);
  CHECK(read->trees[0].nodes[2].value == -0.3333333f);
}

TEST_CASE("ModelFile: a checkpoint keeps its history, also what is not a number", "[gbdt]") {
  const Checkpoint checkpoint{
      SmallModel(), 0xfedcba9876543210u, {"train-auc"}, {{0.1f}, {std::nanf("")}}, true};
  const absl::StatusOr<Checkpoint> read = ParseCheckpoint(CheckpointText(checkpoint));
  REQUIRE(read.ok());
  CHECK(CheckpointText(*read) == CheckpointText(checkpoint));
  CHECK(read->data_fingerprint == 0xfedcba9876543210u);
  CHECK(read->stopped_early);
  CHECK(std::isnan(read->history[1][0]));
  Checkpoint short_history = checkpoint;
  short_history.history.pop_back();
  CHECK_THAT(MessageOf(ParseCheckpoint(CheckpointText(short_history)).status()),
             Catch::Contains("1 values of history for 2 rounds"));
  CHECK_THAT(MessageOf(ParseCheckpoint(ModelText(checkpoint.model)).status()),
             Catch::Contains("not a checkpoint"));
}

TEST_CASE("ModelFile: the newest whole checkpoint counts, older ones go", "[gbdt]") {
  const TempFolder folder;
  const std::string path = (folder / "checkpoints").string();
  std::vector<std::string> warnings;
  CHECK(absl::IsNotFound(ReadNewestCheckpoint(path, &warnings).status()));
  const Checkpoint checkpoint{SmallModel(), 1, {"m"}, {{1}, {2}}, false};
  Checkpoint older = checkpoint;
  older.model.trees.pop_back();
  older.history.pop_back();
  REQUIRE(WriteCheckpoint(path, older).ok());
  REQUIRE(WriteCheckpoint(path, checkpoint).ok());
  CHECK_FALSE(std::filesystem::exists(path + "/checkpoint-00000001.ubj"));
  CHECK(ReadNewestCheckpoint(path, &warnings)->model.rounds() == 2);
  std::ofstream(path + "/checkpoint-00000007.ubj") << "{L";
  std::ofstream(path + "/checkpoint-00000009.ubj.part") << "{";
  CHECK(ReadNewestCheckpoint(path, &warnings)->model.rounds() == 2);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("checkpoint-00000007.ubj: malformed"));
  std::ofstream(path + "/checkpoint-00000008.ubj") << R"({"format":"winnow-gbdt-checkpoint","version":1})";
  CHECK(ReadNewestCheckpoint(path, &warnings)->model.rounds() == 2);
  CHECK_THAT(warnings[1], Catch::Contains("version 1: this program reads version 2"));
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
}  // namespace winnow::gbdt
