// winnow-mlp predict, export-onnx and show as processes.
#include <fstream>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/trainers/data/idx_samples.h"
#include "tests/trainers/trainer_program.h"
#include "trainers/mlp/model/model_file.h"

namespace winnow::mlp {
namespace {

// A network of one hidden unit, which is (size - 1) / 2 where that is above 0; the three classes get 1, -1
// and 0 times it.
Model SmallModel() {
  Model model;
  model.parameters.hidden_layers = {1};
  model.reading.label = "kind";
  FeatureSchema& schema = model.schema;
  schema.features = 1;
  schema.names = {"size"};
  schema.table.columns = {{"size", false, {}, false}};
  schema.table.label_levels = schema.label_levels = {"cat", "dog", "a \"fox\""};
  schema.scaling = {{1}, {2}};
  model.network = MakeNetwork(model.parameters, 1, 3);
  model.state.parameters.resize(model.network.parameters);
  model.state.parameters[model.network.layers[0].WeightAt(0, 0)] = 1;
  model.state.parameters[model.network.layers[1].WeightAt(0, 0)] = 1;
  model.state.parameters[model.network.layers[1].WeightAt(0, 1)] = -1;
  return model;
}

// The same with one output, 2.5 times the hidden unit and 0.5 more: a target, or a logit.
Model OneOutput(LossKind loss) {
  Model model = SmallModel();
  model.parameters.loss = loss;
  model.schema.table.label_levels.clear();
  model.schema.label_levels.clear();
  model.network = MakeNetwork(model.parameters, 1, 1);
  model.state.parameters.assign(model.network.parameters, 0);
  model.state.parameters[model.network.layers[0].WeightAt(0, 0)] = 1;
  model.state.parameters[model.network.layers[1].WeightAt(0, 0)] = 2.5f;
  model.state.parameters[model.network.layers[1].bias] = 0.5f;
  return model;
}

// A folder with a model and three rows for it, of sizes 5, unknown and -3.
class Desk {
 public:
  explicit Desk(const Model& model = SmallModel()) {
    REQUIRE(WriteModel(Path("model.safetensors"), model).ok());
    Write("rows.csv", "kind,colour,size\ncat,red,5\ndog,red,\ncat,blue,-3\n");
    Write("unlabelled.csv", "size\n5\n\"\"\n-3\n");
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  Ended Run(const std::vector<std::string>& arguments) const {
    TrainerProgram program("winnow-mlp", arguments, {"SM_HPS={}"}, Path("err"));
    std::string out = program.ReadAllOutput();
    const int code = program.Wait();
    return {code, std::move(out), ReadAll(folder_ / "err")};
  }
  Ended Predict(std::vector<std::string> flags, const std::string& data = "rows.csv") const {
    flags.insert(flags.begin(), {"predict", "--model", Path("model.safetensors"), "--data", Path(data)});
    return Run(flags);
  }

 private:
  TempFolder folder_;
};

TEST_CASE("ModelCommands: the largest output's class, the first of equal ones", "[mlp]") {
  const Desk desk;
  CHECK(desk.Predict({}).out == "prediction\n\"cat\"\n\"cat\"\n\"cat\"\n");
  Model other = SmallModel();
  other.state.parameters[other.network.layers[1].bias + 2] = 3;
  REQUIRE(WriteModel(desk.Path("model.safetensors"), other).ok());
  CHECK(desk.Predict({}, "unlabelled.csv").out ==
        "prediction\n\"a \"\"fox\"\"\"\n\"a \"\"fox\"\"\"\n\"a \"\"fox\"\"\"\n");
}

TEST_CASE("ModelCommands: logits and probabilities", "[mlp]") {
  const Desk desk;
  CHECK(desk.Predict({"--logits", "--threads", "2"}).out ==
        "logit_0,logit_1,logit_2\n2,-2,0\n0,0,0\n0,0,0\n");
  const std::string shares = desk.Predict({"--probabilities"}).out;
  CHECK_THAT(shares, Catch::StartsWith("\"class_cat\",\"class_dog\",\"class_a \"\"fox\"\"\"\n0.866813"));
  CHECK_THAT(shares, Catch::EndsWith("\n0.33333334,0.33333334,0.33333334\n"));
}

TEST_CASE("ModelCommands: values, and the two classes of a logistic output", "[mlp]") {
  CHECK(Desk(OneOutput(LossKind::kSquared)).Predict({}, "unlabelled.csv").out ==
        "prediction\n5.5\n0.5\n0.5\n");
  Model logistic = OneOutput(LossKind::kLogistic);
  logistic.state.parameters[logistic.network.layers[1].bias] = 0;
  CHECK(Desk(logistic).Predict({}, "unlabelled.csv").out == "prediction\n1\n0\n0\n");
  CHECK_THAT(Desk(logistic).Predict({"--probabilities"}, "unlabelled.csv").out,
             Catch::StartsWith("\"class_0\",\"class_1\"\n0.0066928") && Catch::EndsWith("\n0.5,0.5\n"));
}

TEST_CASE("ModelCommands: predictions go to a file where one is named", "[mlp]") {
  const Desk desk;
  CHECK(desk.Predict({"--output", desk.Path("out.csv")}).out == "");
  CHECK(ReadAll(desk.Path("out.csv")) == "prediction\n\"cat\"\n\"cat\"\n\"cat\"\n");
}

TEST_CASE("ModelCommands: the network in words and as JSON", "[mlp]") {
  const Desk desk;
  const std::string text = desk.Run({"show", "--model", desk.Path("model.safetensors")}).out;
  CHECK_THAT(text, Catch::StartsWith("inputs       1 features from 1 columns\n"
                                     "layer 0      1 x 1, relu\nlayer 1      1 x 3\n"
                                     "classes      cat, dog, a \"fox\"\nparameters   8\n"));
  CHECK_THAT(text, Catch::Contains("\n  learning_rate = 0.1\n"));
  const std::string json = desk.Run({"show", "--model", desk.Path("model.safetensors"), "--json"}).out;
  CHECK_THAT(json, Catch::Contains("\"parameters\": 8,") && Catch::Contains("\"hidden_layers\": \"1\""));
}

TEST_CASE("ModelCommands: an export is ONNX's bytes of the model", "[mlp]") {
  const Desk desk;
  const Ended ended = desk.Run(
      {"export-onnx", "--model", desk.Path("model.safetensors"), "--output", desk.Path("model.onnx")});
  REQUIRE(ended.code == 0);
  CHECK(ReadAll(desk.Path("model.onnx")) == OnnxText(SmallModel()));
}

TEST_CASE("ModelCommands: what cannot be done is said", "[mlp]") {
  const Desk desk, values(OneOutput(LossKind::kHuber));
  const auto fails = [](const Ended& ended, const std::string& expected) {
    CHECK(ended.code == 1);
    CHECK(ended.out == "");
    CHECK_THAT(ended.err, Catch::Contains(expected));
  };
  fails(values.Predict({"--probabilities"}), "model.safetensors predicts values, not classes");
  fails(desk.Predict({}, "absent.csv"), "absent.csv");
  desk.Write("other.csv", "kind,weight\ncat,1\n");
  fails(desk.Predict({}, "other.csv"), "size");
  desk.Write("images-idx3-ubyte", Idx(8, {1, 2, 2}, std::string(4, '\7')));
  fails(desk.Predict({}, "images-idx3-ubyte"), "images-idx3-ubyte");
  fails(desk.Run({"show", "--model", desk.Path("rows.csv")}), "rows.csv: not safetensors");
  fails(desk.Run({"export-onnx", "--model", desk.Path("model.safetensors"), "--output", desk.Path("err/m")}),
        desk.Path("err"));
  Model huge = SmallModel();
  for (float& weight : huge.state.parameters) weight *= 3e38f;
  fails(Desk(huge).Predict({}), "rows.csv: data row 1: what ");
  CHECK(desk.Predict({"--logits", "--probabilities"}).code == 2);
  CHECK(desk.Run({"predict", "--data", desk.Path("rows.csv")}).code == 2);
}

}  // namespace
}  // namespace winnow::mlp
