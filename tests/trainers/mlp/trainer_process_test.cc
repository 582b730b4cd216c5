// winnow-mlp as a process: the trainer contract, resumption, ranks, and stops.

#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/trainers/mlp/mlp_trial.h"
#include "trainers/mlp/model/checkpoint.h"
#include "trainers/mlp/model/model_file.h"

namespace winnow::mlp {
namespace {

// Everything that a step depends on and a checkpoint must therefore keep.
const char kHyperparameters[] =
    R"({"hidden_layers": "16,8", "epochs": "10", "batch_size": 24, "learning_rate": 0.05, "momentum": 0.9,
  "nesterov": true, "weight_decay": 0.001, "dropout": 0.2, "batch_norm": "synchronised", "schedule": "cosine",
  "warmup_epochs": 1})";

TEST_CASE("MlpTrainer: prints every epoch as XGBoost does and leaves a model in two formats", "[mlp]") {
  MlpTrial trial(R"({"hidden_layers": "16", "epochs": 30, "batch_size": 16, "learning_rate": 0.1})");
  const Ended ended = trial.RunLevels();
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(ended.err.empty());
  CHECK(LinesOf(ended.out) == 30);
  CHECK_THAT(ended.out, Catch::StartsWith("[0]\ttrain-loss:"));
  const std::string last = ended.out.substr(ended.out.rfind("\n[") + 1);
  CHECK_THAT(last, Catch::StartsWith("[29]\ttrain-loss:") && Catch::Contains("\ttrain-accuracy:") &&
                       Catch::Contains("\tvalidation-loss:") && Catch::Contains("\tsamples-per-second:"));
  CHECK(LastValue(ended.out, "validation-accuracy") > 0.8);
  const absl::StatusOr<Model> model = ParseModel(trial.Model());
  REQUIRE(model.ok());
  CHECK(model->parameters.seed == 1234567890123456789);
  CHECK(model->network.outputs() == 3);
  CHECK_FALSE(trial.Onnx().empty());
}

TEST_CASE("MlpTrainer: parts of a budget are the whole, bytes and metrics", "[mlp]") {
  for (const char* optimizer : {"sgd", "adam", "lamb"}) {
    std::string hyperparameters = kHyperparameters;
    hyperparameters.insert(1, std::string("\"optimizer\": \"") + optimizer + "\", ");
    if (std::string(optimizer) != "sgd") {
      const std::string only_sgd = R"("momentum": 0.9,
  "nesterov": true, )";
      hyperparameters.erase(hyperparameters.find(only_sgd), only_sgd.size());
    }
    MlpTrial whole(hyperparameters), parts(hyperparameters);
    const Ended expected = whole.RunLevels();
    INFO(optimizer << ": " << expected.err);
    REQUIRE(expected.code == 0);
    std::string out = parts.RunLevels(0, 3).out;
    CHECK(LinesOf(out) == 3);
    out += parts.RunLevels(3, 500).out;  // `epochs` is the end
    CHECK(WithoutSpeed(out) == WithoutSpeed(expected.out));
    CHECK((parts.Model() == whole.Model()));
    CHECK((parts.Onnx() == whole.Onnx()));
  }
}

TEST_CASE(
    "MlpTrainer: a level that is there already ends at once, and says again what may not have been heard",
    "[mlp]") {
  MlpTrial trial(kHyperparameters);
  const Ended first = trial.RunLevels(0, 5);
  const std::string model = trial.Model();
  REQUIRE(first.code == 0);
  std::filesystem::remove(trial.folder / "train.csv");  // not needed any more
  std::filesystem::remove_all(trial.folder / "model");
  const Ended again = trial.RunLevels(3, 5);
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(LinesOf(again.out) == 2);
  CHECK_THAT(first.out, Catch::EndsWith(again.out));
  CHECK((trial.Model() == model));
}

TEST_CASE(
    "MlpTrainer: SIGTERM saves the last whole epoch, and going on from it is as if nothing had happened",
    "[mlp]") {
  const std::string hyperparameters =
      R"({"hidden_layers": "16,8", "epochs": 300, "batch_size": 24, "learning_rate": 0.05, "momentum": 0.9})";
  MlpTrial whole(hyperparameters), disturbed(hyperparameters);
  const Ended expected = whole.RunLevels();
  REQUIRE(expected.code == 0);
  std::string out;
  int64_t saved = 0;
  {
    TrainerProgram program("winnow-mlp", {}, disturbed.Environment(), disturbed.Path("err"));
    while (out.find("[5]\t") == std::string::npos) out += program.ReadLine() + "\n";
    // Nobody reads: the pipe holds it up long before epoch 300.
    program.Signal(SIGTERM);
    out += program.ReadAllOutput();
    CHECK(program.Wait() == 0);
    std::vector<std::string> warnings;
    saved = ReadNewestCheckpoint(disturbed.Path("checkpoint"), &warnings)->epochs;
  }
  CHECK(saved >= 6);
  CHECK(saved < 300);
  CHECK(LinesOf(out) == saved);
  CHECK(disturbed.Model().empty());
  const Ended rest = disturbed.RunLevels(static_cast<int>(saved), 0);
  CHECK(rest.code == 0);
  CHECK(WithoutSpeed(out + rest.out) == WithoutSpeed(expected.out));
  CHECK((disturbed.Model() == whole.Model()));
}

TEST_CASE("MlpTrainer: SIGTERM gives up an epoch that is under way and keeps the one before", "[mlp]") {
  // Rows enough that an epoch takes far longer than a signal.
  MlpTrial trial(R"({"hidden_layers": "512,512", "batch_size": 1, "learning_rate": 0.001})", 6000);
  TrainerProgram program("winnow-mlp", {}, trial.Environment(), trial.Path("err"));
  CHECK_THAT(program.ReadLine(), Catch::StartsWith("[0]\t"));
  program.Signal(SIGTERM);
  CHECK(program.ReadAllOutput().empty());
  CHECK(program.Wait() == 0);
  CHECK(trial.Model().empty());
  std::vector<std::string> warnings;
  CHECK(ReadNewestCheckpoint(trial.Path("checkpoint"), &warnings)->epochs == 1);
}

TEST_CASE("MlpTrainer: a trial goes on from another one's checkpoint with a learning rate of its own",
          "[mlp]") {
  MlpTrial trial(R"({"hidden_layers": "8", "epochs": 30, "batch_size": 24, "learning_rate": 0.01})");
  REQUIRE(trial.RunLevels(0, 5).code == 0);
  trial.environment["WINNOW_ORIGIN_TRIAL"] = "3";
  trial.environment["SM_HPS"] =
      R"({"hidden_layers": "8", "epochs": 30, "batch_size": 24, "learning_rate": 0.5})";
  const Ended changed = trial.RunLevels(5, 7);
  CHECK(changed.code == 0);
  CHECK(LinesOf(changed.out) == 2);
  CHECK_THAT(changed.out, Catch::StartsWith("[5]"));
  const Ended again = trial.RunLevels(7, 8);  // from its own checkpoint
  CHECK_THAT(again.out, Catch::StartsWith("[7]"));
  trial.environment["SM_HPS"] =
      R"({"hidden_layers": "9", "epochs": 30, "batch_size": 24, "learning_rate": 0.5})";
  const Ended other = trial.RunLevels(8, 9);
  CHECK_THAT(other.err,
             Catch::Contains("was made with hidden_layers = 8, not 9: training starts from scratch"));
}

TEST_CASE("MlpTrainer: a checkpoint of other hyperparameters, data or further epochs is not used", "[mlp]") {
  MlpTrial trial(R"({"hidden_layers": "8", "epochs": 30, "batch_size": 24})");
  REQUIRE(trial.RunLevels(0, 5).code == 0);
  const Ended below = trial.RunLevels(3, 4);
  CHECK_THAT(below.err, Catch::Contains("has 5 epochs, more than 4: training starts from scratch"));
  CHECK(LinesOf(below.out) == 4);
  trial.environment["SM_HPS"] = R"({"hidden_layers": "9", "epochs": 30, "batch_size": 24})";
  const Ended other = trial.RunLevels(0, 6);
  CHECK(other.code == 0);
  CHECK_THAT(other.err,
             Catch::Contains("was made with hidden_layers = 8, not 9: training starts from scratch"));
  CHECK(LinesOf(other.out) == 6);
  trial.WriteTable("train.csv", 241, 1);
  const Ended changed = trial.RunLevels(0, 7);
  CHECK(changed.code == 0);
  CHECK_THAT(changed.err, Catch::Contains("was made with other data: training starts from scratch"));
  CHECK(LinesOf(changed.out) == 7);
}

TEST_CASE("MlpTrainer: warns of a damaged checkpoint and skips it", "[mlp]") {
  MlpTrial trial(kHyperparameters);
  std::filesystem::create_directories(trial.folder / "checkpoint");
  std::ofstream(trial.folder / "checkpoint/checkpoint-00000004.mlp") << "winnow-mlp checkpoint\nabc";
  const Ended ended = trial.RunLevels(0, 3);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.err,
             Catch::Contains("checkpoint-00000004.mlp: ") && Catch::Contains("training starts from scratch"));
  CHECK(LinesOf(ended.out) == 3);
}

TEST_CASE("MlpTrainer: two ranks print and write what one does, and resume what it began", "[mlp]") {
  MlpTrial one(kHyperparameters), two(kHyperparameters);
  const Ended expected = one.RunLevels();
  two.environment["WINNOW_RESOURCE_TO"] = "4";
  std::vector<Ended> ended = two.RunRanks(2);
  INFO(ended[0].err << ended[1].err);
  REQUIRE(ended[0].code == 0);
  REQUIRE(ended[1].code == 0);
  CHECK(ended[1].out.empty());
  const std::string out = ended[0].out + two.RunLevels(4).out;
  CHECK(WithoutSpeed(out) == WithoutSpeed(expected.out));
  CHECK((two.Model() == one.Model()));
}

TEST_CASE(
    "MlpTrainer: told to stop one rank stops all, and without a checkpoint folder they say what is lost",
    "[mlp]") {
  MlpTrial trial(R"({"hidden_layers": "16", "epochs": 100000, "batch_size": 24, "learning_rate": 0.01})");
  for (const bool keeps : {true, false}) {
    if (!keeps) trial.environment["WINNOW_CHECKPOINT_DIR"] = "";
    std::deque<TrainerProgram> ranks = trial.StartRanks(2);
    CHECK_THAT(ranks[0].ReadLine(), Catch::StartsWith("[0]\t"));
    ranks[1].Signal(SIGTERM);
    const std::vector<Ended> ended = trial.EndsOf(&ranks);
    const int epochs = 1 + LinesOf(ended[0].out);
    for (const Ended& rank : ended) {
      CHECK(rank.code == (keeps ? 0 : 1));
      CHECK(rank.err == (keeps ? ""
                               : "winnow-mlp: told to stop after " + std::to_string(epochs) +
                                     " of 100000 epochs, and without a checkpoint folder nothing is kept\n"));
    }
    std::vector<std::string> warnings;
    if (keeps) CHECK(ReadNewestCheckpoint(trial.Path("checkpoint"), &warnings)->epochs == epochs);
  }
}

TEST_CASE("MlpTrainer: a rank that was started with something else ends all, with the reason", "[mlp]") {
  MlpTrial trial(R"({"epochs": 3, "learning_rate": 0.1})");
  for (const Ended& ended : trial.RunRanks(2, {"SM_HPS", R"({"epochs": 3, "learning_rate": 0.2})"})) {
    CHECK(ended.code == 1);
    CHECK_THAT(ended.err, Catch::Contains("rank 1 was started with learning_rate = 0.2, rank 0 with "
                                          "learning_rate = 0.1: expected the same on all"));
    CHECK(LinesOf(ended.err) == 1);
  }
  CHECK(trial.Model().empty());
}

TEST_CASE("MlpTrainer: a training that diverges ends on all ranks with the reason, and without a model",
          "[mlp]") {
  MlpTrial trial(
      R"({"hidden_layers": "16", "loss": "mse", "epochs": 50, "batch_size": 24, "learning_rate": 500})");
  for (const Ended& ended : trial.RunRanks(2)) {
    CHECK(ended.code == 1);
    CHECK_THAT(ended.err,
               Catch::Matches("winnow-mlp: [a-z-]+ is (nan|inf|-nan) at epoch [0-9]+, step [0-9]+: the "
                              "learning rate may be too high \\(learning_rate = 500\\)\n"));
    CHECK_THAT(ended.out, !Catch::Contains("nan") && !Catch::Contains("inf"));
  }
  CHECK(trial.Model().empty());
}

TEST_CASE("MlpTrainer: early stopping ends the training, keeps the best epoch and is not taken up again",
          "[mlp]") {
  MlpTrial trial(R"({"hidden_layers": "64", "epochs": 500, "batch_size": 8, "learning_rate": 0.3,
                     "early_stopping_epochs": 3, "eval_metric": "accuracy,loss"})");
  const Ended ended = trial.RunLevels();
  REQUIRE(ended.code == 0);
  const int epochs = LinesOf(ended.out);
  CHECK(epochs < 500);
  CHECK_THAT(ended.err, Catch::Contains("stopped early: validation-loss has not improved since epoch " +
                                        std::to_string(epochs - 4)));
  const std::string model = trial.Model();
  CHECK(trial.RunLevels(epochs).out.empty());
  CHECK((trial.Model() == model));
  // The model is that of the best epoch, though training went on.
  MlpTrial best(trial.environment["SM_HPS"]);
  REQUIRE(best.RunLevels(0, epochs - 3).code == 0);
  CHECK(ParseModel(model)->state.parameters == ParseModel(best.Model())->state.parameters);
}

TEST_CASE("MlpTrainer: a teacher's training goes on from a checkpoint only with the same teacher", "[mlp]") {
  MlpTrial teacher(R"({"hidden_layers": "16", "epochs": 10, "batch_size": 24})");
  REQUIRE(teacher.RunLevels().code == 0);
  const std::string hyperparameters =
      R"({"hidden_layers": "4", "epochs": 6, "batch_size": 24, "teacher": ")" +
      teacher.Path("model/model.safetensors") + R"("})";
  MlpTrial whole(hyperparameters), parts(hyperparameters);
  const Ended expected = whole.RunLevels();
  INFO(expected.err);
  REQUIRE(expected.code == 0);
  std::string out = parts.RunLevels(0, 2).out;
  out += parts.RunLevels(2, 4).out;
  CHECK(WithoutSpeed(expected.out).starts_with(WithoutSpeed(out)));
  REQUIRE(teacher.RunLevels(0, 5).code == 0);  // the model there is another now
  CHECK_THAT(parts.RunLevels(4, 6).err,
             Catch::Contains("other data or another teacher: training starts from scratch"));
}

TEST_CASE("MlpTrainer: a profile is printed, and kept as a table and a trace", "[mlp]") {
  MlpTrial trial(R"({"epochs": 2, "profile": true})");
  const std::vector<Ended> ended = trial.RunRanks(2);
  INFO(ended[0].err);
  REQUIRE(ended[0].code == 0);
  CHECK_THAT(ended[0].err, Catch::Contains("forward") && Catch::Contains("backward"));
  CHECK(ended[1].err.empty());
  CHECK(ReadAll(trial.folder / "output/profile.txt") == ended[0].err);
  CHECK_THAT(ReadAll(trial.folder / "output/trace.json"), Catch::Contains("\"pid\":1"));
}

}  // namespace
}  // namespace winnow::mlp
