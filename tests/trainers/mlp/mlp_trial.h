#pragma once

#include <algorithm>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/hash.h"
#include "tests/support/free_port.h"
#include "tests/support/temp_folder.h"
#include "tests/trainers/trainer_program.h"

namespace winnow::mlp {

inline int LinesOf(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

// Returns lines of metrics without the last column, the speed, which differs between runs.
inline std::string WithoutSpeed(const std::string& lines) {
  std::istringstream in(lines);
  std::string out;
  for (std::string line; std::getline(in, line);)
    out += line.substr(0, line.find("\tsamples-per-second:")) + "\n";
  return out;
}

// Returns the number after "name:" in the last line, which must have it.
inline double LastValue(const std::string& lines, const std::string& name) {
  return std::stod(lines.substr(lines.rfind("\t" + name + ":") + name.size() + 2));
}

// A folder with tables of four features and three classes that depend on them, and the environment of a trial
// of winnow-mlp in it.
struct MlpTrial {
  TempFolder folder;
  std::map<std::string, std::string> environment;

  explicit MlpTrial(const std::string& hyperparameters, int rows = 240) {
    WriteTable("train.csv", rows, 1);
    WriteTable("validation.csv", rows / 2, 2);
    environment = {{"SM_HPS", hyperparameters},
                   {"SM_CHANNEL_TRAIN", Path("train.csv")},
                   {"SM_CHANNEL_VALIDATION", Path("validation.csv")},
                   {"SM_INPUT_DATA_CONFIG", R"({"train": {"label": "y"}, "validation": {"label": "y"}})"},
                   {"SM_MODEL_DIR", Path("model")},
                   {"SM_OUTPUT_DATA_DIR", Path("output")},
                   {"WINNOW_CHECKPOINT_DIR", Path("checkpoint")},
                   {"WINNOW_CACHE_DIR", Path("cache")},
                   {"WINNOW_SEED", "1234567890123456789"},
                   {"WORLD_SIZE", "1"}};
  }

  std::string Path(const std::string& name) const { return (folder / name).string(); }

  void WriteTable(const std::string& name, int rows, uint64_t seed) const {
    std::ofstream file(folder / name);
    file << "a,b,c,d,y\n";
    for (int row = 0; row < rows; ++row) {
      int x[4];
      for (int f = 0; f < 4; ++f)
        x[f] =
            static_cast<int>(HashOf(seed, static_cast<uint64_t>(row), static_cast<uint64_t>(f)) % 201) - 100;
      const int score = x[0] + x[1] * x[2] / 100;
      file << x[0] << "," << x[1] << "," << x[2] << "," << x[3] << ","
           << (score < -40  ? 0
               : score < 40 ? 1
                            : 2)
           << "\n";
    }
  }

  std::vector<std::string> Environment() const {
    std::vector<std::string> list;
    for (const auto& [name, value] : environment) list.push_back(name + "=" + value);
    return list;
  }
  Ended Run(const std::vector<std::string>& arguments, const std::vector<std::string>& variables) const {
    TrainerProgram program("winnow-mlp", arguments, variables, Path("err"));
    Ended ended;
    ended.out = program.ReadAllOutput();
    ended.code = program.Wait();
    ended.err = ReadAll(folder / "err");
    return ended;
  }
  // Runs it by flags.
  Ended RunByHand(const std::vector<std::string>& arguments) const {
    return Run(arguments, {"WINNOW_CACHE_DIR=" + Path("cache")});
  }
  // Runs it under the contract, from one level to another.
  Ended RunLevels(int from = 0, int to = 0) {
    environment["WINNOW_RESOURCE_FROM"] = std::to_string(from);
    environment["WINNOW_RESOURCE_TO"] = std::to_string(to);
    return Run({"--learning_rate", "0.7", "--epochs", "7"}, Environment());
  }
  // Runs it under the contract, as several ranks; the last has additional variables: name, value, name, ...
  std::deque<TrainerProgram> StartRanks(int ranks, const std::vector<std::string>& of_last_rank = {}) const {
    const std::string port = std::to_string(FreePort());
    std::deque<TrainerProgram> programs;
    for (int rank = 0; rank < ranks; ++rank) {
      std::map<std::string, std::string> own = environment;
      own["RANK"] = std::to_string(rank);
      own["WORLD_SIZE"] = std::to_string(ranks);
      own["MASTER_ADDR"] = "127.0.0.1";
      own["MASTER_PORT"] = port;
      for (std::size_t i = 0; rank == ranks - 1 && i + 1 < of_last_rank.size(); i += 2)
        own[of_last_rank[i]] = of_last_rank[i + 1];
      std::vector<std::string> list;
      for (const auto& [name, value] : own) list.push_back(name + "=" + value);
      programs.emplace_back("winnow-mlp", std::vector<std::string>{}, list,
                            Path("err" + std::to_string(rank)));
    }
    return programs;
  }
  // Returns the ends by rank.
  std::vector<Ended> EndsOf(std::deque<TrainerProgram>* programs) const {
    std::vector<Ended> ended(programs->size());
    for (std::size_t rank = 0; rank < ended.size(); ++rank) {
      ended[rank].out = (*programs)[rank].ReadAllOutput();
      ended[rank].code = (*programs)[rank].Wait();
      ended[rank].err = ReadAll(folder / ("err" + std::to_string(rank)));
    }
    return ended;
  }
  std::vector<Ended> RunRanks(int ranks, const std::vector<std::string>& of_last_rank = {}) const {
    std::deque<TrainerProgram> programs = StartRanks(ranks, of_last_rank);
    return EndsOf(&programs);
  }

  std::string Model() const { return ReadAll(folder / "model/model.safetensors"); }
  std::string Onnx() const { return ReadAll(folder / "model/model.onnx"); }
};

}  // namespace winnow::mlp
