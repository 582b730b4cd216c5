// winnow-gbdt --continue-from and --checkpoint-dir as processes, with data that are not what they were.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/trainers/trainer_program.h"

namespace winnow::gbdt {
namespace {

// A folder with train.csv: 300 rows of size, colour and y, which both decide.
class Desk {
 public:
  Desk() {
    std::ofstream(Path("five.json")) << R"({"objective": "binary:logistic", "num_round": 5})";
    WriteTrain("size,colour,y", {0, 1, 2});
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // Rows with the columns in this order; colours from `first_colour` on.
  void WriteTrain(const std::string& header, const std::vector<int>& order, unsigned first_colour = 0) const {
    const std::string colours[] = {"amber", "blue", "cyan"};
    std::mt19937 random(7);
    std::ofstream file(Path("train.csv"));
    file << header << "\n";
    for (int i = 0; i < 300; ++i) {
      const unsigned size = random() % 50, colour = random() % 3;
      const std::string fields[] = {std::to_string(size), colours[std::max(colour, first_colour)],
                                    (size > 20) != (colour == 2) ? "1" : "0"};
      for (std::size_t f = 0; f < order.size(); ++f) file << (f == 0 ? "" : ",") << fields[order[f]];
      file << "\n";
    }
  }
  Ended Train(const std::string& model, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        "--train",     Path("train.csv"), "--label",           "y",
        "--model-dir", Path(model),       "--hyperparameters", Path("five.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    TrainerProgram program("winnow-gbdt", arguments, {}, Path("err"));
    std::string out = program.ReadAllOutput();
    const int code = program.Wait();
    return {code, std::move(out), ReadAll(folder_ / "err")};
  }
  Ended Continue(const std::string& model, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--continue-from", Path(model + "/model.json")});
    return Train("longer", more);
  }

 private:
  TempFolder folder_;
};

TEST_CASE("Continue: columns in another order are the model's all the same", "[gbdt]") {
  Desk desk;
  REQUIRE(desk.Train("model").code == 0);
  const std::string expected = desk.Continue("model").out;
  desk.WriteTrain("y,colour,size", {2, 1, 0});
  const Ended ended = desk.Continue("model");
  CHECK(ended.err.empty());
  CHECK(ended.out == expected);
}

TEST_CASE("Continue: data may lack a level that the model knows, not a column", "[gbdt]") {
  Desk desk;
  REQUIRE(desk.Train("model").code == 0);
  desk.WriteTrain("size,colour,y", {0, 1, 2}, 1);
  CHECK(desk.Continue("model").code == 0);
  desk.WriteTrain("colour,y", {1, 2});
  const Ended lacking = desk.Continue("model");
  CHECK(lacking.code == 1);
  CHECK_THAT(lacking.err, Catch::Contains("feature column \"size\" is not there"));
}

TEST_CASE("Continue: columns that the model lacks are named and ignored", "[gbdt]") {
  Desk desk;
  desk.WriteTrain("colour,y", {1, 2});
  REQUIRE(desk.Train("model").code == 0);
  const Ended expected = desk.Continue("model");
  CHECK(expected.err.empty());
  desk.WriteTrain("size,colour,y", {0, 1, 2});
  const Ended ended = desk.Continue("model");
  CHECK(ended.out == expected.out);
  CHECK_THAT(ended.err, Catch::Contains(
                            "train.csv: feature columns that the model to continue lacks are ignored: size"));
}

TEST_CASE("Continue: what differs from the model is said", "[gbdt]") {
  const Desk desk;
  REQUIRE(desk.Train("model").code == 0);
  std::ofstream(desk.Path("five.json"))
      << R"({"objective": "binary:logistic", "num_round": 5, "base_score": 0.3})";
  CHECK_THAT(desk.Continue("model").err,
             Catch::Contains("base_score = 0.3 has no effect: the model to continue has 0.5"));
  std::ofstream(desk.Path("five.json"))
      << R"({"objective": "binary:logistic", "num_round": 5, "booster": "dart"})";
  CHECK_THAT(desk.Continue("model").err,
             Catch::Contains("a model of objective binary:logistic and booster gbtree with 1 trees a round: "
                             "expected binary:logistic and dart with 1"));
}

TEST_CASE("Continue: of a DART model that stopped early, only the rounds up to the best go on", "[gbdt]") {
  const Desk desk;
  const auto give = [&](const std::string& more) {
    std::ofstream(desk.Path("five.json"))
        << R"({"objective": "binary:logistic", "booster": "dart", "rate_drop": 0.3, "eta": 1)" << more << "}";
  };
  give(R"(, "num_round": 200, "early_stopping_rounds": 3)");
  const Ended first = desk.Train("model", {"--validation-fraction", "0.4"});
  REQUIRE_THAT(first.err, Catch::Contains("stopped early"));
  const auto weights_of = [&](const std::string& model) {
    const auto document = nlohmann::json::parse(ReadAll(desk.Path(model)));
    return document["learner"]["gradient_booster"]["weight_drop"].get<std::vector<float>>();
  };
  const std::vector<float> weights = weights_of("model/model.json");
  give(R"(, "num_round": 2, "skip_drop": 1)");
  REQUIRE(desk.Continue("model").code == 0);
  const std::vector<float> longer = weights_of("longer/model.json");
  const std::size_t best = weights.size() - 4;
  REQUIRE(longer.size() == best + 3);
  CHECK(std::equal(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(best + 1), longer.begin()));
  CHECK(weights[best + 1] != 1);
  CHECK(std::vector<float>(longer.end() - 2, longer.end()) == std::vector<float>{1, 1});
}

// Without drops DART is plain boosting, which adds new trees to the given model's predictions.
TEST_CASE("Continue: a DART model goes on with fewer bins than it was made with", "[gbdt]") {
  const Desk desk;
  const auto continued = [&](const std::string& booster) {
    const std::string common =
        R"({"objective": "binary:logistic", "num_round": 5, "booster": ")" + booster + R"(", "max_bin": )";
    std::ofstream(desk.Path("five.json")) << common << "256}";
    REQUIRE(desk.Train("model").code == 0);
    std::ofstream(desk.Path("five.json")) << common << "3}";
    const Ended ended = desk.Continue("model", {"--validation", desk.Path("train.csv")});
    REQUIRE(ended.code == 0);
    return ended.out;
  };
  CHECK(continued("dart") == continued("gbtree"));
}

TEST_CASE("Checkpoint: a whole training that is there already is not taken for other data's", "[gbdt]") {
  Desk desk;
  const std::vector<std::string> kept = {"--checkpoint-dir", desk.Path("kept")};
  const std::string first = desk.Train("model", kept).out;
  CHECK(desk.Train("model", kept).out == first);
  desk.WriteTrain("size,colour,y", {0, 1, 2}, 1);
  const Ended ended = desk.Train("model", kept);
  CHECK_THAT(ended.err, Catch::Contains("was made with other data: training starts from scratch"));
  CHECK(ended.out == desk.Train("fresh").out);
}

TEST_CASE("Checkpoint: one that went on from another model, or from none, is not gone on from", "[gbdt]") {
  Desk desk;
  const std::vector<std::string> kept = {"--checkpoint-dir", desk.Path("kept")};
  const std::string alone = desk.Train("model", kept).out;
  const Ended continued = desk.Continue("model", kept);
  CHECK_THAT(continued.err, Catch::Contains("from another model: training starts from scratch"));
  CHECK(continued.out == desk.Continue("model").out);
  CHECK(desk.Continue("model", kept).out == continued.out);
  CHECK(desk.Train("model", kept).out == alone);
}

TEST_CASE("Checkpoint: one that went on from a model with another base score is gone on from", "[gbdt]") {
  const Desk desk;
  const auto give = [&](const std::string& more) {
    std::ofstream(desk.Path("five.json")) << R"({"num_round": 5, "seed": 3)" << more << "}";
  };
  for (const std::string objective : {"binary:logistic", "reg:absoluteerror"}) {
    give(R"(, "base_score": 0.3, "objective": ")" + objective + "\"");
    REQUIRE(desk.Train("model").code == 0);
    give(R"(, "objective": ")" + objective + "\"");
    const std::vector<std::string> kept = {"--checkpoint-dir", desk.Path(objective)};
    const Ended continued = desk.Continue("model", kept);
    REQUIRE(continued.code == 0);
    const std::string model = ReadAll(desk.Path("longer/model.json"));
    const Ended again = desk.Continue("model", kept);
    CHECK(again.err.empty());
    CHECK(again.out == continued.out);
    CHECK(ReadAll(desk.Path("longer/model.json")) == model);
    // Nor does it matter which one is asked for, since it has no effect.
    give(R"(, "base_score": 0.4, "objective": ")" + objective + "\"");
    CHECK(desk.Continue("model", kept).err.empty());
  }
}

TEST_CASE(
    "Checkpoint: of DART, one beyond the budget is not cut to it, since later rounds changed its weights",
    "[gbdt]") {
  Desk desk;
  const auto train = [&](const std::string& rounds, const std::string& checkpoints) {
    TrainerProgram program(
        "winnow-gbdt", {},
        {R"(SM_HPS={"objective": "binary:logistic", "booster": "dart", "rate_drop": 0.5, "num_round": 9})",
         "SM_CHANNEL_TRAIN=" + desk.Path("train.csv"), R"(SM_INPUT_DATA_CONFIG={"train": {"label": "y"}})",
         "SM_MODEL_DIR=" + desk.Path("model"), "WINNOW_CHECKPOINT_DIR=" + desk.Path(checkpoints),
         "WINNOW_RESOURCE_TO=" + rounds},
        desk.Path("err"));
    program.ReadAllOutput();
    REQUIRE(program.Wait() == 0);
    return ReadAll(desk.Path("model/model.json"));
  };
  const std::string expected = train("4", "fresh");
  REQUIRE(train("8", "kept") != expected);
  CHECK(train("4", "kept") == expected);
}

}  // namespace
}  // namespace winnow::gbdt
