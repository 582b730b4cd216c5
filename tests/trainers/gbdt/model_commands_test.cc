// winnow-gbdt predict, importance and convert as processes.
#include <fstream>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/trainers/gbdt/model_samples.h"
#include "tests/trainers/trainer_program.h"
#include "trainers/gbdt/model/model_file.h"

namespace winnow::gbdt {
namespace {

// A folder with a model and three rows for it. The first tree asks for the size only; of the second, whose
// weight is 0.1, the first two rows reach leaf 4 and leaf 3 by their shapes, the third leaf 2 by its size.
class CommandDesk {
 public:
  CommandDesk() {
    Model model = DartModel();
    model.feature_names = {"shape", "size", "c"};
    model.schema.columns[1].name = "size";
    for (Tree& tree : model.trees) tree.nodes[0].feature = 1;
    model.trees[1].nodes[0].threshold = 0.5f;
    REQUIRE(WriteModel(Path("model.json"), model).ok());
    std::ofstream(Path("rows.csv")) << "c,size,shape\n0,0,cube\n0,0,egg\n0,0.75,ring\n";
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  Ended Run(const std::vector<std::string>& arguments) const {
    TrainerProgram program("winnow-gbdt", arguments, {"SM_HPS={}"}, Path("err"));
    std::string out = program.ReadAllOutput();
    const int code = program.Wait();
    return {code, std::move(out), ReadAll(folder_ / "err")};
  }
  Ended Predict(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"predict", "--model", Path("model.json"), "--data", Path("rows.csv")});
    return Run(flags);
  }

 private:
  TempFolder folder_;
};

TEST_CASE("ModelCommands: the leaf of each row in each tree", "[gbdt]") {
  CHECK(CommandDesk().Predict({"--leaf"}).out == "tree_0,tree_1\n1,4\n1,3\n2,2\n");
  CHECK(CommandDesk().Predict({"--leaf", "--rounds", "1", "--threads", "2"}).out == "tree_0\n1\n1\n2\n");
}

TEST_CASE("ModelCommands: margins are the weighted sums of the leaves", "[gbdt]") {
  CHECK(CommandDesk().Predict({"--margin"}).out == "prediction\n0.35000002\n0.25\n8.5e-31\n");
}

TEST_CASE("ModelCommands: contributions have a column for each feature and one for the start", "[gbdt]") {
  const Ended ended = CommandDesk().Predict({"--contribs", "--rounds", "1"});
  // 4 of the first tree's 7 rows have -1/3 and 3 have nothing; its weight is 3/4.
  CHECK(ended.out ==
        "\"shape\",\"size\",\"c\",\"bias\"\n0,-0.10714285,0,-0.14285713\n0,-0.10714285,0,-0.14285713\n"
        "0,0.14285713,0,-0.14285713\n");
}

TEST_CASE("ModelCommands: importances as CSV and JSON", "[gbdt]") {
  const CommandDesk desk;
  CHECK(desk.Run({"importance", "--model", desk.Path("model.json"), "--type", "weight"}).out ==
        "feature,score\n\"size\",2\n\"shape\",1\n");
  CHECK(desk.Run({"importance", "--model", desk.Path("model.json"), "--output", "json"}).out ==
        "{\n  \"size\": 3.5,\n  \"shape\": 1.5\n}\n");
  const Ended wrong = desk.Run({"importance", "--model", desk.Path("model.json"), "--type", "shap"});
  CHECK(wrong.code == 1);
  CHECK_THAT(wrong.err, Catch::Contains("expected weight, gain, cover, total_gain or total_cover"));
}

TEST_CASE("ModelCommands: a model converted to UBJSON and back is the same file", "[gbdt]") {
  const CommandDesk desk;
  REQUIRE(desk.Run({"convert", "--model", desk.Path("model.json"), "--output", desk.Path("m.ubj")}).code ==
          0);
  REQUIRE(desk.Run({"convert", "--model", desk.Path("m.ubj"), "--output", desk.Path("m.json")}).code == 0);
  CHECK(ReadAll(desk.Path("m.json")) == ReadAll(desk.Path("model.json")));
  CHECK(ReadAll(desk.Path("m.ubj")).substr(0, 2) == "{L");
}

TEST_CASE("ModelCommands: what cannot be done is said", "[gbdt]") {
  const CommandDesk desk;
  CHECK(desk.Predict({"--margin", "--leaf"}).code == 2);
  const Ended unlabelled = desk.Predict({"--label", "zz"});
  CHECK(unlabelled.code == 1);
  CHECK_THAT(unlabelled.err, Catch::Contains("rows.csv: label column \"zz\" is not there"));
  std::ofstream(desk.Path("bad.ubj")) << "{L";
  const Ended bad = desk.Run({"convert", "--model", desk.Path("bad.ubj"), "--output", desk.Path("m.json")});
  CHECK(bad.code == 1);
  CHECK_THAT(bad.err, Catch::Contains("bad.ubj: malformed: not UBJSON, or cut short"));
}

}  // namespace
}  // namespace winnow::gbdt
