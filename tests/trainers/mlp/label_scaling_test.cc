// winnow-mlp learns labels scaled to mean 0 and deviation 1, and tells and predicts them in their own unit.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/catch.h"
#include "tests/trainers/mlp/mlp_trial.h"
#include "trainers/mlp/model/checkpoint.h"
#include "trainers/mlp/model/model_file.h"

namespace winnow::mlp {
namespace {

constexpr double kMeanPrice = 300'000, kPriceDeviation = 90'000;  // about, of the label

// MlpTrial with a label of large numbers, which the features tell.
struct PriceTrial : MlpTrial {
  std::vector<double> prices;  // of validation.csv

  explicit PriceTrial(const std::string& more = "", const std::string& loss = "mse")
      : MlpTrial(R"({"hidden_layers": "32,16", "epochs": 7, "batch_size": 24, "learning_rate": 0.01,
                    "momentum": 0.9, "loss": ")" +
                 loss + R"(", "eval_metric": "loss,mae,rmse")" + more + "}") {
    WritePrices("train.csv", 480, 1);
    prices = WritePrices("validation.csv", 120, 2);
  }

  std::vector<double> WritePrices(const std::string& name, int rows, uint64_t seed) const {
    std::vector<double> written;
    std::ofstream file(folder / name);
    file << "a,b,y\n";
    for (int row = 0; row < rows; ++row) {
      const auto drawn = [&](uint64_t of) {
        return static_cast<double>(HashOf(seed, static_cast<uint64_t>(row), of) % 2001) / 1000 - 1;
      };
      const double a = drawn(0), b = drawn(1);
      written.push_back(std::round(kMeanPrice + kPriceDeviation * (1.5 * a + b * b)));
      file << a << "," << b << "," << written.back() << "\n";
    }
    return written;
  }

  // The root of the mean squared residue of what the model predicts for validation.csv.
  double PredictedRmse() const {
    const Ended predicted =
        RunByHand({"predict", "--model", Path("model/model.safetensors"), "--data", Path("validation.csv")});
    INFO(predicted.err);
    REQUIRE(predicted.code == 0);
    std::istringstream lines(predicted.out);
    std::string line;
    std::getline(lines, line);
    double sum = 0;
    for (const double price : prices) {
      REQUIRE(std::getline(lines, line));
      sum += (std::stod(line) - price) * (std::stod(line) - price);
    }
    return std::sqrt(sum / static_cast<double>(prices.size()));
  }
};

TEST_CASE("LabelScaling: large labels are learned, and metrics and predictions are in their unit", "[mlp]") {
  for (const char* loss : {"mse", "huber"}) {
    const PriceTrial trial("", loss);
    const Ended ended = trial.Run({}, trial.Environment());
    INFO(loss << ": " << ended.err << ended.out);
    REQUIRE(ended.code == 0);
    const double rmse = LastValue(ended.out, "validation-rmse");
    CHECK(rmse < 0.5 * kPriceDeviation);
    CHECK(std::fabs(trial.PredictedRmse() - rmse) < 1e-3 * rmse);
    if (std::string(loss) == "mse") {
      CHECK(std::fabs(LastValue(ended.out, "validation-loss") - rmse * rmse) < 1e-3 * rmse * rmse);
      CHECK(LastValue(ended.out, "train-loss") < kPriceDeviation * kPriceDeviation);
      CHECK(LastValue(ended.out, "train-loss") > 1e-3 * rmse * rmse);
    } else {
      // Most residues are below one deviation: the loss is half their square.
      CHECK(std::fabs(LastValue(ended.out, "validation-loss") - rmse * rmse / 2) < 0.1 * rmse * rmse);
    }
    CHECK(LastValue(ended.out, "validation-mae") < rmse);
  }
}

TEST_CASE("LabelScaling: without it these labels are not learned", "[mlp]") {
  const PriceTrial trial(R"(, "standardise_label": false)");
  CHECK(trial.Run({}, trial.Environment()).code == 1);  // it diverges
}

TEST_CASE("LabelScaling: parts of a budget are the whole", "[mlp]") {
  PriceTrial whole, parts;
  const Ended expected = whole.RunLevels();
  REQUIRE(expected.code == 0);
  std::string out = parts.RunLevels(0, 3).out;
  out += parts.RunLevels(3, 7).out;
  CHECK(WithoutSpeed(out) == WithoutSpeed(expected.out));
  CHECK((parts.Model() == whole.Model()));
  CHECK((parts.Onnx() == whole.Onnx()));
}

TEST_CASE("LabelScaling: a student learns a teacher's values in their unit", "[mlp]") {
  PriceTrial teacher;
  REQUIRE(teacher.Run({}, teacher.Environment()).code == 0);
  const PriceTrial student(R"(, "teacher_weight": 1, "teacher": ")" +
                           teacher.Path("model/model.safetensors") + "\"");
  const Ended ended = student.Run({}, student.Environment());
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(LastValue(ended.out, "validation-rmse") < 0.5 * kPriceDeviation);
}

TEST_CASE("LabelScaling: a training that began without it goes on without it", "[mlp]") {
  const std::string small = R"(, "clip_norm": 1, "standardise_label": )";
  PriceTrial whole(small + "false"), resumed(small + "true");
  const Ended expected = whole.RunLevels();
  REQUIRE(expected.code == 0);
  PriceTrial begun(small + "false");
  std::string out = begun.RunLevels(0, 3).out;
  // As a version wrote it that had no such hyperparameter.
  std::vector<std::string> warnings;
  absl::StatusOr<Checkpoint> checkpoint = ReadNewestCheckpoint(begun.Path("checkpoint"), &warnings);
  REQUIRE(checkpoint.ok());
  std::erase_if(checkpoint->hyperparameters, [](const auto& v) { return v.first == "standardise_label"; });
  REQUIRE(WriteCheckpoint(resumed.Path("checkpoint"), *checkpoint).ok());
  const Ended rest = resumed.RunLevels(3, 5);
  INFO(rest.err);
  out += rest.out;
  out += resumed.RunLevels(5, 7).out;
  CHECK(rest.err.empty());
  CHECK(WithoutSpeed(out) == WithoutSpeed(expected.out));
}

}  // namespace
}  // namespace winnow::mlp
