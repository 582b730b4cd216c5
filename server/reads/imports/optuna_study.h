#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/space/types.h"
#include "store/database/foreign_file.h"

namespace winnow {

// A trial of an Optuna study.
struct OptunaTrial {
  int64_t number = 0;     // Optuna's number, from 0
  bool finished = false;  // completed or pruned
  bool pruned = false;
  // Integers, floats and the choices of categories: numbers and texts unchanged; true, false and null as
  // texts.
  std::map<std::string, Value> parameters;
  std::optional<double> value;  // absent: none, or not finite
  int64_t resource = 0;         // the last reported step, counted from 1; 0: none
};

struct OptunaStudy {
  std::string name;
  Goal goal = Goal::kMinimize;
  std::vector<OptunaTrial> trials;  // by number
};

// Reads a study from an SQLite file of Optuna (2.4 to 4). `name` = "": the file's only one. INVALID_ARGUMENT
// gives the error, without the file's name and without quoting its content: another program's file, an
// unknown layout (also views and tables that compute their columns), no such study, several objectives, over
// 256 MiB, 100,000 trials or 2,000,000 parameters, a change in progress. Otherwise the status of `go_on`.
absl::StatusOr<OptunaStudy> ReadOptunaStudy(const ForeignFile& file, const std::string& name,
                                            const GoOn& go_on);

}  // namespace winnow
