// winnow-gbdt and winnow-mlp as processes: which columns belong to which channel.

#include <fstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/trainers/trainer_program.h"

namespace winnow {
namespace {

// Tables of one feature: t.csv and v.csv with weights "w", plain.csv without, other.csv with the label "z".
struct Tables {
  TempFolder folder;

  Tables() {
    const auto write = [&](const std::string& name, const std::string& header, bool weighted) {
      std::ofstream file(folder / name);
      file << header << "\n";
      for (int row = 0; row < 60; ++row) {
        file << (row * 7 % 10 < 4) << "," << row * 7 % 10 << "." << row % 3;
        if (weighted) file << "," << (row % 5 == 0 ? 9 : 1);
        file << "\n";
      }
    };
    write("t.csv", "y,a,w", true);
    write("v.csv", "y,a,w", true);
    write("plain.csv", "y,a", false);
    write("other.csv", "z,a", false);
  }
  std::string Path(const std::string& name) const { return (folder / name).string(); }

  Ended Run(const std::string& trainer, const std::vector<std::string>& arguments,
            const std::vector<std::string>& variables) const {
    TrainerProgram program(trainer, arguments, variables, Path("err"));
    Ended ended;
    ended.out = program.ReadAllOutput();
    ended.code = program.Wait();
    ended.err = ReadAll(folder / "err");
    return ended;
  }
  Ended UnderContract(const std::string& trainer, const std::string& validation,
                      const std::string& channels) const {
    return Run(trainer, {},
               {"SM_HPS=" + Hyperparameters(trainer), "SM_CHANNEL_TRAIN=" + Path("t.csv"),
                "SM_CHANNEL_VALIDATION=" + Path(validation), "SM_INPUT_DATA_CONFIG=" + channels,
                "SM_MODEL_DIR=" + Path("model")});
  }
  Ended ByHand(const std::string& trainer, std::vector<std::string> flags) const {
    std::ofstream(folder / "hp.json") << Hyperparameters(trainer);
    for (const std::string word :
         {"--train", "t.csv", "--hyperparameters", "hp.json", "--model-dir", "model"})
      flags.push_back(word.starts_with("--") ? word : Path(word));
    return Run(trainer, flags, {});
  }
  static std::string Hyperparameters(const std::string& trainer) {
    return trainer == "winnow-gbdt"
               ? R"({"objective": "binary:logistic", "eval_metric": "logloss", "num_round": 3, "max_depth": 1})"
               : R"({"loss": "logistic", "hidden_layers": "2", "epochs": 3, "batch_size": 10})";
  }
};

// The values of validation metrics, without names and speeds.
std::string Validation(const std::string& out) {
  std::string values;
  for (size_t at = out.find("validation-"); at != std::string::npos; at = out.find("validation-", at + 1))
    values += out.substr(at, out.find_first_of("\t\n", at) - at) + " ";
  return values;
}

TEST_CASE("Channels: a channel without weight counts each row once, whatever the other says", "[trainer]") {
  const Tables tables;
  for (const std::string trainer : {"winnow-gbdt", "winnow-mlp"}) {
    const auto run = [&](const std::string& validation, const std::string& channels) {
      const Ended ended = tables.UnderContract(trainer, validation, channels);
      INFO(trainer << ": " << ended.err);
      CHECK(ended.code == 0);
      return Validation(ended.out);
    };
    const std::string of_train = R"({"train": {"label": "y", "weight": "w"}})";
    const std::string plain = run("plain.csv", of_train);
    CHECK_FALSE(plain.empty());
    CHECK(run("v.csv", of_train) == plain);  // its column w is there, but nobody says that it weighs
    CHECK(run("v.csv", R"({"train": {"label": "y", "weight": "w"}, "validation": {"weight": "w"}})") != plain);
    CHECK_FALSE(run("other.csv", R"({"train": {"label": "y", "weight": "w"}, "validation": {"label": "z"}})")
                    .empty());
    CHECK_FALSE(run("v.csv", R"({"train": {"label": "y", "drop": ["w"]}, "validation": {"weight": "w"}})").empty());
  }
}

TEST_CASE("Channels: the error for a missing column names its channel and file", "[trainer]") {
  const Tables tables;
  const struct {
    const char* validation;
    const char* channels;
    std::string expected;
  } kCases[] = {
      {"plain.csv", R"({"train": {"label": "y", "weight": "w"}, "validation": {"weight": "w"}})",
       "channel validation: " + tables.Path("plain.csv") + ": weight column \"w\" is not there"},
      {"plain.csv", R"({"train": {"label": "y", "weight": "v"}})",
       "channel train: " + tables.Path("t.csv") + ": weight column \"v\" is not there"},
      {"other.csv", R"({"train": {"label": "y", "drop": ["w"]}})",
       "channel validation: " + tables.Path("other.csv") + ": the data has no label column \"y\""},
      {"none.csv", R"({"train": {"label": "y"}})", "channel validation: " + tables.Path("none.csv")},
  };
  for (const std::string trainer : {"winnow-gbdt", "winnow-mlp"}) {
    for (const auto& c : kCases) {
      const Ended ended = tables.UnderContract(trainer, c.validation, c.channels);
      INFO(trainer << ": " << ended.err);
      CHECK(ended.code == 1);
      CHECK_THAT(ended.err, Catch::StartsWith(trainer + ": " + c.expected));
    }
  }
}

TEST_CASE("Channels: by hand, columns are those of both files unless --validation says others", "[trainer]") {
  const Tables tables;
  for (const std::string trainer : {"winnow-gbdt", "winnow-mlp"}) {
    const auto run = [&](const std::string& validation, std::vector<std::string> flags) {
      flags.insert(flags.end(), {"--label", "y", "--weight", "w", "--validation", tables.Path(validation)});
      return tables.ByHand(trainer, flags);
    };
    const Ended both = run("v.csv", {}), unweighted = run("v.csv", {"--validation-weight", ""}),
                plain = run("plain.csv", {"--validation-weight", ""});
    INFO(trainer << ": " << both.err << unweighted.err << plain.err);
    CHECK(both.code + unweighted.code + plain.code == 0);
    CHECK(Validation(unweighted.out) == Validation(plain.out));
    CHECK(Validation(both.out) != Validation(plain.out));
    CHECK(run("other.csv", {"--validation-weight", "", "--validation-label", "z"}).code == 0);
    CHECK_THAT(run("plain.csv", {}).err,
               Catch::Contains("--validation: " + tables.Path("plain.csv") + ": weight column \"w\""));
    const Ended alone = tables.ByHand(trainer, {"--validation-weight", "w"});
    CHECK(alone.code == 2);
    CHECK_THAT(alone.err, Catch::Contains("--validation-weight is given; expected --validation too"));
  }
}

}  // namespace
}  // namespace winnow
