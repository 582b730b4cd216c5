#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/space/types.h"
#include "store/foreign_file.h"

namespace winnow {

// A trial of an Optuna study.
struct OptunaTrial {
  int64_t number = 0;     // as Optuna counts, from 0
  bool finished = false;  // completed or pruned
  bool pruned = false;
  // Integers, floats and the choices of categories: numbers and texts as they are, true, false and null as
  // texts.
  std::map<std::string, Value> parameters;
  std::optional<double> value;  // absent: none, or not finite
  int64_t resource = 0;         // the last step it reported, counted from 1; 0: it reported none
};

struct OptunaStudy {
  std::string name;
  Goal goal = Goal::kMinimize;
  std::vector<OptunaTrial> trials;  // by number
};

// Reads a study that Optuna (2.4 to 4) keeps in an SQLite file. `name` = "": the file's only one. INVALID_ARGUMENT says
// what is wrong, without the file's name and without a word of what is in it: another program's file, an unknown layout
// (views and tables that compute their columns too), no such study, several objectives, over 256 MiB, 100,000 trials or
// 2,000,000 parameters, a change that is under way. Also what `go_on` says.
absl::StatusOr<OptunaStudy> ReadOptunaStudy(const ForeignFile& file, const std::string& name, const GoOn& go_on);

}  // namespace winnow
