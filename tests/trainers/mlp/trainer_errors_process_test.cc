// winnow-mlp as a process: errors for bad input, and its flags.

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/trainers/data/idx_samples.h"
#include "tests/trainers/mlp/mlp_trial.h"
#include "trainers/mlp/model/model_file.h"

namespace winnow::mlp {
namespace {

// With files of every kind of harm in its folder.
class HarmedTrial : public MlpTrial {
 public:
  HarmedTrial() : MlpTrial("{}") {
    const std::string pixels(4 * 6, '\7');
    WriteImages("magic", std::string(1, '\1') + Idx(8, {4, 2, 3}, pixels).substr(1), 4);
    WriteImages("five", Idx(8, {4, 2, 3}, pixels), 5);
    WriteImages("short", Idx(8, {4, 2, 3}, pixels.substr(1)), 4);
    WriteImages("nan", Idx(13, {4, 2, 3}, NanPixels()), 4);
    Write("cut-images-idx3-ubyte.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x63\x60", 12));
    Write("cut-labels-idx1-ubyte", Idx(8, {4}, "\0\1\0\1"));
    Write("infinite.csv", "a,y\n1,0\ninf,1\n2,0\n");
    Write("half.csv", "a,y\n1,0\n2,1.5\n3,1\n");
    Write("zero.csv", "a,y\n1,0\n2,0\n3,0\n");
  }
  std::string Images(const std::string& name) const { return Path(name + "-images-idx3-ubyte"); }

 private:
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }
  void WriteImages(const std::string& name, const std::string& images, uint32_t labels) const {
    Write(name + "-images-idx3-ubyte", images);
    Write(name + "-labels-idx1-ubyte", Idx(8, {labels}, std::string(labels - 1, '\0') + '\1'));
  }
  static std::string NanPixels() {
    std::string bytes;
    for (int pixel = 0; pixel < 24; ++pixel)
      bytes += pixel == 20 ? std::string("\x7f\xc0\0\0", 4) : std::string("\x3f\x80\0\0", 4);
    return bytes;
  }
};

TEST_CASE("MlpTrainer: bad data end it with one line that names the file and what was expected", "[mlp]") {
  HarmedTrial trial;
  const struct {
    std::string path;
    const char* expected;
  } kCases[] = {
      {"/nowhere/t.csv", "/nowhere/t.csv"},
      {trial.Images("magic"), "magic-images-idx3-ubyte"},
      {trial.Images("five"), "5 labels: expected 4"},
      {trial.Images("short"), "ends after"},
      {trial.Images("nan"), "row 4: the pixel of row 1, column 3 is nan: expected a finite number"},
      {trial.Images("cut") + ".gz", "cut-images-idx3-ubyte.gz"},
      {trial.Path("infinite.csv"), "inf"},
      {trial.Path("half.csv"), "row 2: label = 1.5: expected a class from 0 to 2"},
      {trial.Path("zero.csv"), "zero.csv: the labels are of one class: expected two or more"},
  };
  for (const auto& c : kCases) {
    trial.environment["SM_HPS"] = R"({"batch_size": 2})";
    trial.environment["SM_CHANNEL_TRAIN"] = c.path;
    trial.environment.erase("SM_CHANNEL_VALIDATION");
    trial.environment["SM_INPUT_DATA_CONFIG"] =
        c.path.ends_with(".csv") ? R"({"train": {"label": "y"}})" : "{}";
    const Ended ended = trial.Run({}, trial.Environment());
    INFO(c.path << ": " << ended.err);
    CHECK(ended.code == 1);
    CHECK_THAT(ended.err, Catch::StartsWith("winnow-mlp: ") && Catch::Contains(c.expected));
    CHECK(LinesOf(ended.err) == 1);
  }
}

TEST_CASE("MlpTrainer: bad settings end it with one line that says what and where", "[mlp]") {
  const struct {
    const char* variable;
    std::string value;
    const char* expected;
  } kCases[] = {
      {"SM_HPS", R"({"learning_rte": 1})", "learning_rte"},
      {"SM_HPS", R"({"learning_rate": -1})", "hyperparameter learning_rate = -1: expected "},
      {"SM_HPS", R"({"hidden_layers": "16,0"})", "hyperparameter hidden_layers = "},
      {"SM_HPS", R"({"batch_size": 300, "virtual_shards": 241})",
       "hyperparameter virtual_shards = 241: expected at most 240, the rows of a batch of this training "
       "data"},
      {"SM_HPS", "{\n \"epochs\" 3}", "this is not valid JSON: line 2, column 11: syntax error"},
      {"SM_HPS", R"({"eval_metric": "rmse"})", "rmse"},
      {"SM_HPS", R"({"teacher": "/nowhere/m.safetensors"})", "/nowhere/m.safetensors"},
      {"SM_HPS", "", "hyperparameters"},
      {"SM_CHANNEL_TRAIN", "", "SM_CHANNEL_TRAIN is not set"},
      {"SM_CHANNEL_VALIDATION", "/nowhere/v.csv", "/nowhere/v.csv"},
      {"SM_INPUT_DATA_CONFIG", R"({"train": {"label": "z"}})", "z"},
      {"WINNOW_RESOURCE_TO", "ten", "WINNOW_RESOURCE_TO = ten: expected a whole number"},
      {"WINNOW_SEED", "1e9", "WINNOW_SEED = 1e9: expected a whole number"},
      {"WORLD_SIZE", "3", "RANK"},
      {"SM_MODEL_DIR", "/proc/none", "/proc/none"},
      {"WINNOW_CHECKPOINT_DIR", "/proc/none", "/proc/none"},
  };
  MlpTrial trial(R"({"epochs": 1})");
  for (const auto& c : kCases) {
    std::filesystem::remove_all(trial.folder / "checkpoint");
    const auto kept = trial.environment;
    trial.environment[c.variable] = c.value;
    const Ended ended = trial.Run({}, trial.Environment());
    trial.environment = kept;
    INFO(c.variable << "=" << c.value << ": " << ended.err);
    CHECK(ended.code == 1);
    CHECK_THAT(ended.err, Catch::StartsWith("winnow-mlp: ") && Catch::Contains(c.expected));
    CHECK(LinesOf(ended.err) == 1);
  }
}

TEST_CASE("MlpTrainer: a batch larger than the data becomes as large as these, with a warning", "[mlp]") {
  MlpTrial larger(R"({"epochs": 2, "batch_size": 500})"), equal(R"({"epochs": 2, "batch_size": 240})");
  const Ended warned = larger.Run({}, larger.Environment()), silent = equal.Run({}, equal.Environment());
  CHECK(warned.code == 0);
  CHECK_THAT(warned.err,
             Catch::Contains("batch_size = 500 is more than the training data have: batches have 240 rows"));
  CHECK(WithoutSpeed(warned.out) == WithoutSpeed(silent.out));
  CHECK(silent.err.empty());
}

TEST_CASE("MlpTrainer: f32 is taken where bf16 is slower, and that is said", "[mlp]") {
  if (std::getenv("WINNOW_SIMD") != nullptr) return;  // the kernels are chosen by hand
  MlpTrial asked(R"({"epochs": 2, "hidden_layers": "8", "precision": "bf16"})"),
      plain(R"({"epochs": 2, "hidden_layers": "8"})");
  const Ended warned = asked.Run({}, asked.Environment()), silent = plain.Run({}, plain.Environment());
  CHECK(warned.code == 0);
  CHECK_THAT(warned.err,
             Catch::Contains("precision bf16 is slower than f32 ") && Catch::Contains("f32 is taken"));
  CHECK(WithoutSpeed(warned.out) == WithoutSpeed(silent.out));
  CHECK(asked.Model() == plain.Model());
}

TEST_CASE("MlpTrainer: a rank that cannot read its file ends all, with the reason", "[mlp]") {
  MlpTrial trial(R"({"epochs": 3})");
  const std::vector<Ended> ranks = trial.RunRanks(2, {"SM_CHANNEL_TRAIN", "/nowhere/t.csv"});
  CHECK(ranks[0].code == 75);  // not its fault
  CHECK(ranks[1].code == 1);
  for (const Ended& ended : ranks) CHECK_THAT(ended.err, Catch::Contains("/nowhere/t.csv"));
}

TEST_CASE("MlpTrainer: by flags, with the same model for any number of threads", "[mlp]") {
  MlpTrial trial("{}");
  std::ofstream(trial.folder / "hp.json") << R"({"hidden_layers": "16", "epochs": 3, "batch_size": 24})";
  const auto train = [&](const std::string& model, const std::string& threads) {
    return trial.RunByHand({"--train", trial.Path("train.csv"), "--validation", trial.Path("validation.csv"),
                            "--label", "y", "--drop", "d", "--hyperparameters", trial.Path("hp.json"),
                            "--model-dir", trial.Path(model), "--threads", threads, "--timing",
                            trial.Path("timing.json")});
  };
  const Ended one = train("m1", "1"), three = train("m3", "3");
  INFO(one.err);
  REQUIRE(one.code == 0);
  CHECK(WithoutSpeed(one.out) == WithoutSpeed(three.out));
  const std::string model = ReadAll(trial.folder / "m1/model.safetensors");
  CHECK(model == ReadAll(trial.folder / "m3/model.safetensors"));
  CHECK(ParseModel(model)->schema.names == std::vector<std::string>{"a", "b", "c"});
  CHECK_THAT(ReadAll(trial.folder / "timing.json"),
             Catch::Contains("\"epoch_seconds\":[") && Catch::Contains("\"setup_seconds\":") &&
                 Catch::Contains("\"bytes_sent\":0") && Catch::Contains("\"state_bytes\":["));
  const Ended predicted = trial.RunByHand(
      {"predict", "--model", trial.Path("m1/model.safetensors"), "--data", trial.Path("validation.csv")});
  INFO(predicted.err);
  CHECK(predicted.code == 0);
  CHECK(LinesOf(predicted.out) == 121);
  CHECK_THAT(predicted.out, Catch::StartsWith("prediction\n"));
}

TEST_CASE("MlpTrainer: wrong flags are a usage error, wrong files are not", "[mlp]") {
  MlpTrial trial("{}");
  const std::string train = trial.Path("train.csv"), model = trial.Path("model");
  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* expected;
  } kCases[] = {
      {{}, 2, "--train is required"},
      {{"--train", train}, 2, "--model-dir is required"},
      {{"--train", train, "--model-dir", model, "--colour", "red"}, 2, "--colour"},
      {{"--train", train, "--model-dir", model, "--threads", "-3"}, 2, "--threads"},
      {{"--train", train, "--model-dir", model, "--validation", train, "--validation-fraction", "0.5"},
       2,
       "exclude"},
      {{"predict", "--model", model}, 2, "--data"},
      {{"--train", train, "--model-dir", model, "--label", "nothing"}, 1, "nothing"},
      {{"--train", train, "--model-dir", model, "--hyperparameters", "/none.json"},
       1,
       "/none.json: cannot open"},
      {{"--train", train, "--model-dir", model, "--hyperparameters", train}, 1, "train.csv: "},
      {{"predict", "--model", "/none.safetensors", "--data", train}, 1, "/none.safetensors"},
      {{"predict", "--model", train, "--data", train}, 1, "train.csv"},
  };
  for (const auto& c : kCases) {
    const Ended ended = trial.RunByHand(c.arguments);
    INFO(ended.err);
    CHECK(ended.code == c.code);
    CHECK_THAT(ended.err, Catch::StartsWith("winnow-mlp: ") && Catch::Contains(c.expected));
    CHECK(LinesOf(ended.err) == 1);
  }
  CHECK_THAT(trial.RunByHand({"--version"}).out, Catch::StartsWith("winnow-mlp "));
  const Ended help = trial.RunByHand({"--help"});
  CHECK(help.code == 0);
  CHECK_THAT(help.out, Catch::Contains("--profile-dir") && Catch::Contains("predict"));
}

}  // namespace
}  // namespace winnow::mlp
