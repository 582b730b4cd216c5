// winnow-gbdt as processes, alone and on two ranks, with the smallest and largest of data and
// hyperparameters.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/catch.h"
#include "tests/support/free_port.h"
#include "tests/support/temp_folder.h"
#include "tests/trainers/trainer_program.h"
#include "trainers/gbdt/model/model_file.h"

namespace winnow::gbdt {
namespace {

struct Trained {
  std::vector<int> codes;
  std::vector<std::string> errors;  // what each rank says
  std::string lines, model;
};

// A table of label y and the trainings on it.
class Table {
 public:
  explicit Table(const std::string& text) { std::ofstream(folder_ / "t.csv") << text; }

  Trained Train(const std::string& hyperparameters, int ranks, const std::vector<std::string>& flags = {}) {
    std::filesystem::remove_all(folder_ / "model");
    std::ofstream(folder_ / "hp.json") << hyperparameters;
    std::vector<std::string> arguments = {"--train",           Path("t.csv"),   "--label",     "y",
                                          "--hyperparameters", Path("hp.json"), "--model-dir", Path("model")};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const std::string port = std::to_string(FreePort()), size = std::to_string(ranks);
    std::deque<TrainerProgram> programs;
    for (int rank = 0; rank < ranks; ++rank)
      programs.emplace_back("winnow-gbdt", arguments,
                            std::vector<std::string>{"RANK=" + std::to_string(rank), "WORLD_SIZE=" + size,
                                                     "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port},
                            Path("err" + std::to_string(rank)));
    Trained trained;
    trained.lines = programs[0].ReadAllOutput();
    for (int rank = 0; rank < ranks; ++rank) {
      trained.codes.push_back(programs[rank].Wait());
      trained.errors.push_back(ReadAll(folder_ / ("err" + std::to_string(rank))));
    }
    trained.model = ReadAll(folder_ / "model/model.json");
    return trained;
  }

  // Predictions of the model trained last.
  std::vector<std::string> Predict() {
    TrainerProgram program("winnow-gbdt",
                           {"predict", "--model", Path("model/model.json"), "--data", Path("t.csv")}, {},
                           Path("err"));
    std::istringstream lines(program.ReadAllOutput());
    CHECK(program.Wait() == 0);
    std::vector<std::string> predictions;
    std::string line;
    std::getline(lines, line);  // the header
    while (std::getline(lines, line)) predictions.push_back(line);
    return predictions;
  }

 private:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  TempFolder folder_;
};

std::string Rows(int count, const std::string& header, const std::function<std::string(int)>& row) {
  std::string text = header + "\n";
  for (int i = 0; i < count; ++i) text += row(i) + "\n";
  return text;
}

std::string SmallTable() {
  return Rows(60, "a,b,y", [](int i) { return fmt::format("{},{},{}", i % 7, i % 5, int{i % 7 > 3}); });
}

const std::string kLogistic = R"("objective": "binary:logistic", "min_child_weight": 0)";

TEST_CASE("Trainer: the smallest tables train, alone and on more ranks than they have rows", "[gbdt]") {
  const std::string hyperparameters = "{" + kLogistic + R"(, "num_round": 3, "eval_metric": "logloss"})";
  const struct {
    std::string table;
    bool informs;  // there is something to learn
  } kCases[] = {
      {"a,y\n3,1\n", true},
      {"a,b,y\n5,5,1\n5,5,0\n5,5,1\n5,5,0\n", false},
      {"a,b,y\n,,1\n,,0\n,,1\n,,0\n", false},
      {"a,y\n1,1\n2,1\n3,1\n", true},
  };
  for (const auto& c : kCases) {
    INFO(c.table);
    Table table(c.table);
    const Trained alone = table.Train(hyperparameters, 1),
                  together = table.Train(hyperparameters, 5, {"--threads", "3"});
    CHECK(alone.codes == std::vector<int>{0});
    CHECK(together.codes == std::vector<int>(5, 0));
    CHECK(together.lines == alone.lines);
    CHECK(together.model == alone.model);
    CHECK((std::stod(table.Predict()[0]) > 0.5) == c.informs);
  }
}

TEST_CASE("Trainer: the limits of hyperparameters do what they say, on any ranks", "[gbdt]") {
  const struct {
    std::string hyperparameters;
    std::size_t least, most;  // nodes of the first tree
  } kCases[] = {
      {R"("eta": 0)", 3, 100},
      {R"("eta": 1, "lambda": 0)", 3, 100},
      {R"("max_depth": 0)", 3, 100},
      {R"("max_depth": 30, "lambda": 0)", 3, 100},
      {R"("max_depth": 0, "max_leaves": 2, "grow_policy": "lossguide")", 3, 3},
      {R"("max_depth": 1)", 3, 3},
      {R"("colsample_bytree": 0, "colsample_bylevel": 0, "colsample_bynode": 0)", 3, 100},
      {R"("subsample": 1e-9)", 1, 1},
      {R"("max_bin": 2)", 3, 100},
  };
  Table table(SmallTable());
  for (const auto& c : kCases) {
    const std::string hyperparameters = "{" + kLogistic + R"(, "num_round": 2, )" + c.hyperparameters + "}";
    INFO(hyperparameters);
    const Trained alone = table.Train(hyperparameters, 1), together = table.Train(hyperparameters, 2);
    CHECK(alone.codes == std::vector<int>{0});
    CHECK(together.model == alone.model);
    const absl::StatusOr<Model> model = ParseModel(alone.model);
    REQUIRE(model.ok());
    CHECK(model->trees[0].nodes.size() >= c.least);
    CHECK(model->trees[0].nodes.size() <= c.most);
    CHECK(table.Predict().size() == 60);
  }
}

TEST_CASE("Trainer: a model of no rounds predicts the base score of its objective", "[gbdt]") {
  const std::array<const char*, 3> kCases[] = {
      {R"("objective": "binary:logistic")", "0.5"},
      {R"("objective": "binary:logistic", "base_score": 0.25)", "0.25"},
      {R"("objective": "count:poisson", "booster": "dart")", "0.5"},
      {R"("objective": "reg:absoluteerror")", "0"},  // the median
      {R"("objective": "multi:softprob", "num_class": 4)", "0.25,0.25,0.25,0.25"},
  };
  Table table(SmallTable());
  for (const auto& c : kCases) {
    INFO(c[0]);
    CHECK(table.Train(std::string("{\"num_round\": 0, ") + c[0] + "}", 2).codes == std::vector<int>{0, 0});
    CHECK(table.Predict() == std::vector<std::string>(60, c[1]));
  }
}

TEST_CASE("Trainer: a column of as many values as there are bins, and of more, with and without gaps",
          "[gbdt]") {
  const std::string hyperparameters =
      R"({"objective": "reg:squarederror", "num_round": 1, "eta": 1, "lambda": 0, "max_depth": 1, "max_bin": 65535})";
  for (const int values : {65'535, 65'536}) {
    for (const int gaps : {0, 3}) {
      INFO(values << " values, " << gaps << " gaps");
      // The last value alone is labelled 1, the gaps 0: one cut, of the last bin, explains all.
      Table table(Rows(values + gaps, "a,y", [&](int i) {
        return i < values ? fmt::format("{},{}", i * 7919LL % values, int{i * 7919LL % values == values - 1})
                          : std::string(",0");
      }));
      const Trained alone = table.Train(hyperparameters, 1), together = table.Train(hyperparameters, 2);
      CHECK(alone.codes == std::vector<int>{0});
      CHECK(together.model == alone.model);
      const std::vector<std::string> predictions = table.Predict();
      const auto ones = std::count_if(predictions.begin(), predictions.end(),
                                      [](const std::string& text) { return std::stod(text) > 0.4; });
      CHECK(ones >= 1);
      CHECK(ones <= values - 65'535 + 1);
      CHECK(predictions.size() == static_cast<std::size_t>(values + gaps));
    }
  }
}

TEST_CASE("Trainer: data that cannot be learned from is refused by every rank, with the place", "[gbdt]") {
  const struct {
    std::string row, hyperparameters, expected;
  } kCases[] = {
      {"1,1,2", kLogistic, "row 61: label = 2: expected 0 to 1 with objective binary:logistic"},
      {"1,1,-1", R"("objective": "count:poisson")", "row 61: label = -1: expected a number of at least 0"},
      {"1,1,0", R"("objective": "reg:gamma")", "label = 0: expected a number above 0"},
      {"1,1,3", R"("objective": "multi:softmax", "num_class": 3)",
       "row 61: label = 3: expected a class from 0 to 2"},
      {"1,1,1e20", R"("objective": "reg:squarederror")",
       "row 61: label = 1e+20: expected a number from -1e15 to 1e15"},
      {"1,1,inf", kLogistic, "t.csv:62: column \"y\": \"inf\" is infinite"},
      {"1,1,", kLogistic, "t.csv:62: column \"y\": the label is missing"},
      {"inf,1,1", kLogistic, "t.csv:62: column \"a\": \"inf\" is infinite"},
      {"1,-Infinity,1", kLogistic, "t.csv:62: column \"b\": \"-Infinity\" is infinite"},
      {"1,1e39,1", kLogistic, "t.csv:62: column \"b\": \"1e39\" is infinite or beyond the range"},
      {"1,1,1", kLogistic + R"(, "max_bin": 65536)",
       "max_bin = 65536: expected a whole number of at least 2 and at most 65535"},
  };
  for (const auto& c : kCases) {
    Table table(SmallTable() + c.row + "\n");
    const Trained trained = table.Train("{" + c.hyperparameters + "}", 2);
    INFO(c.row << " " << c.hyperparameters);
    CHECK(trained.codes == std::vector<int>{1, 1});
    for (const std::string& error : trained.errors) {
      CHECK_THAT(error, Catch::StartsWith("winnow-gbdt: ") && Catch::Contains(c.expected));
      CHECK(std::count(error.begin(), error.end(), '\n') == 1);
    }
  }
  Table weightless(Rows(20, "a,w,y", [](int i) { return fmt::format("{},0,{}", i, i % 2); }));
  CHECK_THAT(weightless.Train("{" + kLogistic + "}", 2, {"--weight", "w"}).errors[0],
             Catch::Contains("column \"w\": every weight is 0; expected some above 0"));
  // Only one row weighs; it is in one of the two parts.
  Table nearly(Rows(20, "a,w,y", [](int i) { return fmt::format("{},{},{}", i, i == 7 ? 1 : 0, i % 2); }));
  for (const int ranks : {1, 2}) {
    const Trained trained =
        nearly.Train("{" + kLogistic + "}", ranks, {"--weight", "w", "--validation-fraction", "0.5"});
    for (const std::string& error : trained.errors)
      CHECK_THAT(error, Catch::Contains("t.csv: every weight of the rows to") &&
                            Catch::Contains("is 0, with validation_fraction 0.5 and split_seed 0"));
  }
}

TEST_CASE("Trainer: more categories than a feature may have are refused by name", "[gbdt]") {
  Table table(Rows(65'536, "u,y", [](int i) { return fmt::format("u{},{}", i, i % 2); }));
  for (const int ranks : {1, 2}) {
    const Trained trained =
        table.Train(R"({"enable_categorical": true, "num_round": 1})", ranks, {"--max-levels", "100000"});
    CHECK_THAT(trained.errors[0],
               Catch::Contains("feature u has more than 65535 categories: expected at most"));
  }
}

TEST_CASE("Trainer: multi:softmax predicts the texts of a text label", "[gbdt]") {
  Table table("y,x\n\"a, b\",1\n\"a, b\",1\nc,5\nc,5\n\"d\"\"\",9\n\"d\"\"\",9\n");
  const Trained trained =
      table.Train(R"({"objective": "multi:softmax", "num_class": 3, "min_child_weight": 0})", 1);
  REQUIRE(trained.codes[0] == 0);
  CHECK(table.Predict() ==
        std::vector<std::string>{"\"a, b\"", "\"a, b\"", "\"c\"", "\"c\"", "\"d\"\"\"", "\"d\"\"\""});
}

}  // namespace
}  // namespace winnow::gbdt
