#include "trainers/common/contract.h"

#include <map>

#include "base/status_text.h"
#include "tests/catch.h"

namespace winnow {
namespace {

using Variables = std::map<std::string, std::string>;

EnvironmentReader Of(const Variables& variables) {
  return [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

TEST_CASE("Contract: files, how they are read, and levels", "[trainer]") {
  const Variables variables = {
      {"SM_CHANNEL_TRAIN", "/t"},
      {"SM_CHANNEL_VALIDATION", "/v"},
      {"SM_MODEL_DIR", "/m"},
      {"SM_OUTPUT_DATA_DIR", "/o"},
      {"WINNOW_CHECKPOINT_DIR", "/c"},
      {"WINNOW_RESOURCE_FROM", "3"},
      {"WINNOW_RESOURCE_TO", "9"},
      {"WINNOW_SEED", "1234567890123456789"},
      {"SM_INPUT_DATA_CONFIG",
       R"({"train": {"label": "y", "drop": ["id", 4], "maxLevels": 9, "distribution": "sharded",
                     "splitSeed": "18446744073709551615"},
           "validation": {"label": 2, "separator": "tab"}})"}};
  const absl::StatusOr<TrainFiles> files = FilesFromContract(Of(variables));
  REQUIRE(files.ok());
  CHECK(files->train_path + files->validation_path == "/t/v");
  CHECK(files->model_folder + files->checkpoint_folder + files->output_folder == "/m/c/o");
  CHECK(files->train_reading.label == "y");
  CHECK(files->train_reading.drop == std::vector<std::string>{"id", "4"});
  CHECK(files->train_reading.max_levels == 9);
  CHECK(files->train_sharded);
  CHECK(files->split_seed == 18446744073709551615u);
  CHECK(files->validation_reading.label == "2");
  CHECK(files->validation_reading.separator == "\t");
  CHECK(files->validation_reading.max_levels == 9);  // what is not said of validation is as in train
  CHECK_FALSE(files->validation_sharded);
  CHECK(files->resource_from == 3);
  CHECK(files->resource_to == 9);
  CHECK(*SeedFromContract(Of(variables), 7) == 1234567890123456789);
}

TEST_CASE("Contract: weights are those of the channel that names their column", "[trainer]") {
  Variables variables = {{"SM_CHANNEL_TRAIN", "/t"}, {"SM_CHANNEL_VALIDATION", "/v"}};
  const auto with = [&](const char* config) {
    variables["SM_INPUT_DATA_CONFIG"] = config;
    return *FilesFromContract(Of(variables));
  };
  const TrainFiles of_train = with(R"({"train": {"label": "y", "weight": "w"}, "validation": {}})");
  CHECK(of_train.train_reading.weight == "w");
  CHECK(of_train.validation_reading.weight.empty());
  CHECK(of_train.validation_reading.training_weight == "w");  // still no feature
  CHECK(of_train.validation_reading.label == "y");
  CHECK(of_train.validation_reading.label_is_of_training);
  const TrainFiles of_both =
      with(R"({"train": {"weight": "w"}, "validation": {"weight": "v", "label": "z"}})");
  CHECK(of_both.validation_reading.weight == "v");
  CHECK(of_both.validation_reading.training_weight.empty());
  CHECK_FALSE(of_both.validation_reading.label_is_of_training);
  const TrainFiles of_validation = with(R"({"train": {"drop": ["v", "id"]}, "validation": {"weight": "v"}})");
  CHECK(of_validation.validation_reading.drop == std::vector<std::string>{"id"});
  CHECK(of_validation.train_reading.weight.empty());
  CHECK(of_validation.validation_reading.weight == "v");
}

TEST_CASE("Contract: a channel is a file or a pipe", "[trainer]") {
  Variables variables = {{"SM_CHANNEL_TRAIN", "/t"}, {"SM_CHANNEL_VALIDATION", "/v"}};
  const auto with = [&](const char* config) {
    variables["SM_INPUT_DATA_CONFIG"] = config;
    return FilesFromContract(Of(variables));
  };
  const TrainFiles files = *with(R"({"train": {"mode": "pipe"}, "validation": {"mode": "file"}})");
  CHECK(files.train_piped);
  CHECK_FALSE(files.validation_piped);
  CHECK(MessageOf(with(R"({"train": {"mode": "stream"}})").status()) ==
        "SM_INPUT_DATA_CONFIG: channel train: mode = \"stream\": expected file or pipe");
}

TEST_CASE("Contract: what is not said keeps its meaning", "[trainer]") {
  const Variables variables = {{"SM_CHANNEL_TRAIN", "/t"}};
  const absl::StatusOr<TrainFiles> files = FilesFromContract(Of(variables));
  REQUIRE(files.ok());
  CHECK(files->validation_path.empty());
  CHECK(files->output_folder.empty());
  CHECK(files->resource_to == 0);
  CHECK(*SeedFromContract(Of(variables), 7) == 7);
}

TEST_CASE("Contract: errors name the variable, the value and what was expected", "[trainer]") {
  const struct {
    Variables variables;
    const char* expected;
  } kCases[] = {
      {{}, "SM_CHANNEL_TRAIN is not set: expected the path of the channel train"},
      {{{"SM_CHANNEL_TRAIN", "/t"}, {"WINNOW_RESOURCE_TO", "ten"}},
       "WINNOW_RESOURCE_TO = ten: expected a whole number from 0 to 2^63 - 1"},
      {{{"SM_CHANNEL_TRAIN", "/t"}, {"SM_INPUT_DATA_CONFIG", R"({"train": {"distribution": "some"}})"}},
       "SM_INPUT_DATA_CONFIG: channel train: distribution = \"some\": expected replicated or sharded"},
  };
  for (const auto& c : kCases) CHECK(MessageOf(FilesFromContract(Of(c.variables)).status()) == c.expected);
  const Variables seed = {{"WINNOW_SEED", "-1"}};
  CHECK_THAT(MessageOf(SeedFromContract(Of(seed), 0).status()), Catch::StartsWith("WINNOW_SEED = -1: "));
}

}  // namespace
}  // namespace winnow
