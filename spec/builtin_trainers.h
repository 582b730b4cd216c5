#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

enum class HyperparameterKind { kInteger, kReal, kText };

// A hyperparameter that a built-in trainer knows, and the values it takes.
struct BuiltinHyperparameter {
  std::string name;
  HyperparameterKind kind = HyperparameterKind::kReal;
  std::optional<double> min;         // closed
  std::optional<double> max;         // closed
  std::vector<std::string> choices;  // of kText; empty: any text
};

struct BuiltinTrainer {
  std::string name;     // as in the job file: "gbdt"
  std::string program;  // found beside the worker's own program
  std::string resource_parameter;
  int64_t default_resource = 0;  // its own end when the parameter is not given
  std::string resource_regex;
  int64_t resource_offset = 0;
  std::vector<BuiltinHyperparameter> hyperparameters;
  std::vector<std::string> metrics;  // values of eval_metric; printed as train:<m> and validation:<m>

  const BuiltinHyperparameter* find(std::string_view hyperparameter) const;
};

// Those that exist, by name.
const std::vector<BuiltinTrainer>& BuiltinTrainers();
const BuiltinTrainer* FindBuiltinTrainer(std::string_view name);  // null: unknown

// The metrics that gbdt evaluates, as listed in `eval_metric` ("auc,logloss"); by `objective` if that is "".
std::vector<std::string> EvaluatedMetrics(std::string_view eval_metric, std::string_view objective);

// Reads `metric` from a line like "[12]\ttrain-auc:0.81\tvalidation-auc:0.78"; `part` is "train" or
// "validation". RE2 with one group.
std::string PrintedMetricRegex(std::string_view part, std::string_view metric);

}  // namespace winnow
