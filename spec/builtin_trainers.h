#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "winnow/v1/tuning.pb.h"

namespace winnow {

enum class HyperparameterKind { kInteger, kReal, kText };

// A hyperparameter that a built-in trainer knows, and the values it takes.
struct BuiltinHyperparameter {
  std::string name;
  HyperparameterKind kind = HyperparameterKind::kReal;
  std::optional<double> min;         // closed
  std::optional<double> max;         // closed
  bool above_min = false;            // min itself is outside
  std::vector<std::string> choices;  // of kText; empty: any text
  bool tunable = true;
  bool below_max = false;                                          // max itself is outside
  bool any_case = false;                                           // of choices: "Adam" is "adam"
  std::vector<std::pair<std::string, std::string>> synonyms = {};  // and the choices that they mean
};

// Metrics that are evaluated where no eval_metric is given, and the value of `metrics_by` that they go with.
struct BuiltinMetrics {
  std::string of;
  std::vector<std::string> metrics;
};

struct BuiltinTrainer {
  std::string name;     // as in the job file: "gbdt"
  std::string program;  // found beside the worker's own program
  std::string resource_parameter;
  int64_t default_resource = 0;  // its own end when the parameter is not given
  std::string resource_regex;
  int64_t resource_offset = 0;
  std::vector<BuiltinHyperparameter> hyperparameters;
  std::vector<std::pair<std::string, std::string>> aliases;  // second names, and what they mean
  std::vector<std::string> metrics;          // values of eval_metric; printed as validation:<m>
  std::string metric_regex;                  // RE2 of further ones: those that carry a number
  std::vector<std::string> metric_examples;  // of these
  std::string metrics_by;                    // the hyperparameter that decides without eval_metric
  std::vector<BuiltinMetrics> own_metrics;   // the first where that hyperparameter is not given
  bool trains_as_it_validates = true;        // train:<m> is printed of the same metrics
  // Good configurations to begin with, by first names; each holds a value of every hyperparameter that is
  // often tuned.
  std::vector<std::map<std::string, std::string>> portfolio;

  const BuiltinHyperparameter* Find(std::string_view hyperparameter) const;  // by either name; null: unknown
  std::string_view FirstName(std::string_view hyperparameter) const;  // what an alias means; else as it is
};

// What a text means among the choices of `known`: the choice itself; nullopt: none of them. Of one without
// choices any text is itself.
std::optional<std::string> ChoiceOf(const BuiltinHyperparameter& known, std::string_view text);

// The static value of a hyperparameter of the spec's built-in trainer, by either name; "": not given.
std::string StaticValue(const v1::TuningJobSpec& spec, std::string_view hyperparameter);

// Those that exist, by name.
const std::vector<BuiltinTrainer>& BuiltinTrainers();
const BuiltinTrainer* FindBuiltinTrainer(std::string_view name);  // null: unknown

// The metrics that a trainer evaluates, as listed in `eval_metric` ("auc,logloss"); if that is "", those that
// go with `chosen`, the value of trainer.metrics_by.
std::vector<std::string> EvaluatedMetrics(const BuiltinTrainer& trainer, std::string_view eval_metric,
                                          std::string_view chosen);

// Whether `metric` is one of trainer.metrics, or one of them with the number it may carry ("ndcg@5-").
bool IsMetric(const BuiltinTrainer& trainer, const std::string& metric);

// How far the spec's built-in trainer trains a trial whose end is not tuned: the static number of rounds, or
// its default; 0: not known.
int64_t FixedEndOf(const v1::TuningJobSpec& spec);

// What the spec's built-in trainer prints: "train:auc", and "validation:auc" if there is data for it; of mlp
// also "samples-per-second". Empty for a command.
std::vector<std::string> PrintedMetrics(const v1::TuningJobSpec& spec);

// Reads `metric` from a line like "[12]\ttrain-auc:0.81\tvalidation-auc:0.78"; `part` is "train" or
// "validation". RE2 with one group.
std::string PrintedMetricRegex(std::string_view part, std::string_view metric);
// The same of one that PrintedMetrics gives.
std::string PrintedMetricRegex(const std::string& printed);

}  // namespace winnow
