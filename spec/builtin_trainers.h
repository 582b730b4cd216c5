#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/hyperparameters/declaration.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// A trainer that comes with Winnow, as jobs use it.
struct BuiltinTrainer {
  std::string name;                // as in the job file: "gbdt"
  const Declaration* declaration;  // its program and hyperparameters; never null
  std::string resource_parameter;  // its default is how far a trial trains where the job does not give it
  std::string resource_regex;
  int64_t resource_offset = 0;
  // Good configurations to begin with, by first names. Each has a value of every hyperparameter that is often
  // tuned.
  std::vector<std::map<std::string, std::string>> portfolio;

  // The declaration of a hyperparameter by any of its names, with what jobs allow of it: a trial trains for
  // at least one round or epoch. Absent: unknown.
  std::optional<Hyperparameter> Find(std::string_view hyperparameter) const;
  std::string FirstName(std::string_view hyperparameter) const {
    return declaration->FirstName(hyperparameter);
  }
};

const std::vector<BuiltinTrainer>& BuiltinTrainers();
const BuiltinTrainer* FindBuiltinTrainer(std::string_view name);  // null: unknown

// What the spec fixes of its built-in trainer's hyperparameters. The tuned ones are open, and so are static
// ones with a value that is not legal. Nothing for a command.
Given GivenIn(const v1::TuningJobSpec& spec);

// How far the spec's built-in trainer trains a trial whose end is not tuned: the static number of rounds or
// epochs, or its default. 0: not known.
int64_t FixedEndOf(const v1::TuningJobSpec& spec);

// The names of the metrics that the spec's built-in trainer prints: "train:auc", "validation:auc" if there is
// data for it, for mlp also "samples-per-second". Empty for a command.
std::vector<std::string> PrintedMetrics(const v1::TuningJobSpec& spec);

// A regular expression (RE2, one group) that reads `metric` from a line like
// "[12]\ttrain-auc:0.81\tvalidation-auc:0.78". `part` is "train" or "validation".
std::string PrintedMetricRegex(std::string_view part, std::string_view metric);
// The same for a name that PrintedMetrics gives.
std::string PrintedMetricRegex(const std::string& printed);

}  // namespace winnow
