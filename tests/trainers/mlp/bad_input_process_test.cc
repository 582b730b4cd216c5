// winnow-mlp as a process with unusable input: one line that names the error and what was expected.

#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/trainers/data/idx_samples.h"
#include "tests/trainers/mlp/mlp_trial.h"

namespace winnow::mlp {
namespace {

void CheckRefused(const Ended& ended, const std::string& expected) {
  INFO(ended.err);
  CHECK(ended.code == 1);
  CHECK_THAT(ended.err, Catch::StartsWith("winnow-mlp: ") && Catch::Contains(expected));
  CHECK(LinesOf(ended.err) == 1);
}

class BadInput : public MlpTrial {
 public:
  BadInput() : MlpTrial("{}") {
    std::filesystem::create_directory(folder / "folder");
    Write("a-images-idx3-ubyte", Idx(8, {4, 1, 2}, "abcdefgh"));
    Write("a-labels-idx1-ubyte", Idx(8, {4}, std::string("\0\1\0\1", 4)));
    Write("noname", Idx(8, {4, 1, 2}, "abcdefgh"));
    Write("empty-images-idx3-ubyte", "");
    Write("empty-labels-idx1-ubyte", Idx(8, {4}, std::string("\0\1\0\1", 4)));
  }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }
  Ended Train(const std::string& hyperparameters, const std::vector<std::string>& flags) const {
    Write("hp.json", hyperparameters);
    std::vector<std::string> arguments = {"--hyperparameters", Path("hp.json"), "--model-dir", Path("model")};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunByHand(arguments);
  }
  Ended TrainTable(const std::string& hyperparameters) const {
    return Train(hyperparameters, {"--train", Path("train.csv"), "--label", "y"});
  }
};

TEST_CASE("MlpTrainer: a network that no memory holds is refused before it is made", "[mlp]") {
  CheckRefused(BadInput().TrainTable(R"({"hidden_layers": "65536,65536,65536,65536,65536,65536,65536"})"),
               "parameters needs ");
}

TEST_CASE("MlpTrainer: sifting that keeps next to nothing has an error of its own, not that of divergence",
          "[mlp]") {
  CheckRefused(
      BadInput().TrainTable(R"({"epochs": 9, "batch_size": 120, "sift_beta": 100, "sift_delay": 0})"),
      "sifting kept no whole batch of 120 rows in epoch ");
}

TEST_CASE("MlpTrainer: the error for a folder in place of a file says so", "[mlp]") {
  const BadInput trial;
  CheckRefused(trial.TrainTable(R"({"teacher": ")" + trial.Path("folder") + R"("})"),
               trial.Path("folder") + ": is a directory; expected a file");
}

TEST_CASE("MlpTrainer: IDX by request, whatever the file is called", "[mlp]") {
  const BadInput trial;
  const Ended named = trial.Train(
      R"({"epochs": 1, "batch_size": 4})",
      {"--train", trial.Path("noname"), "--format", "idx", "--label", trial.Path("a-labels-idx1-ubyte")});
  INFO(named.err);
  CHECK(named.code == 0);
  CheckRefused(trial.Train("{}", {"--train", trial.Path("train.csv"), "--format", "idx", "--label",
                                  trial.Path("a-labels-idx1-ubyte")}),
               "train.csv: begins with 61 2c 62 2c: expected an IDX file");
  CheckRefused(trial.Train("{}", {"--train", trial.Path("empty-images-idx3-ubyte")}),
               "empty-images-idx3-ubyte: the file is empty");
}

TEST_CASE("MlpTrainer: what cannot be written is an error, and devices stay what they are", "[mlp]") {
  BadInput trial;
  const std::string hyperparameters = R"({"epochs": 1, "hidden_layers": "4"})";
  REQUIRE(trial.TrainTable(hyperparameters).code == 0);
  const std::vector<std::string> predict = {
      "predict", "--model", trial.Path("model/model.safetensors"), "--data", trial.Path("train.csv"),
      "--output"};
  const auto predict_to = [&](const std::string& output) {
    std::vector<std::string> arguments = predict;
    arguments.push_back(output);
    return trial.RunByHand(arguments);
  };
  std::filesystem::create_symlink("/dev/full", trial.folder / "full");
  CheckRefused(predict_to(trial.Path("full")), "full: cannot write: No space left on device");
  CHECK(std::filesystem::is_character_file(trial.folder / "full"));
  std::filesystem::create_symlink("/dev/stdout", trial.folder / "out");
  const Ended printed = predict_to(trial.Path("out"));
  INFO(printed.err);
  CHECK(printed.code == 0);
  CHECK_THAT(printed.out, Catch::StartsWith("prediction\n"));
}

TEST_CASE("MlpTrainer: more ranks than rows are refused by all", "[mlp]") {
  const std::string distribution = GENERATE("LOCAL_SGD", "PARAMETER_SERVER");
  BadInput trial;
  trial.Write("train.csv", "a,y\n1,0\n2,1\n");
  trial.environment["SM_HPS"] = R"({"batch_size": 1, "distribution": ")" + distribution + R"("})";
  trial.environment.erase("SM_CHANNEL_VALIDATION");
  for (const Ended& ended : trial.RunRanks(3)) {
    INFO(ended.err);
    CHECK((ended.code == 1 ||
           ended.code == 75));  // 75: it heard of another's refusal before it came to its own
    CHECK_THAT(ended.err,
               Catch::Contains("2 rows of training data: expected at least one for each of 3 ranks"));
  }
}

}  // namespace
}  // namespace winnow::mlp
