#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

enum class ObjectiveKind { kBinaryLogistic, kBinaryLogitRaw, kSquaredError, kSoftProb };
enum class MetricKind { kAuc, kAucPr, kLogLoss, kError, kRmse, kMae, kMultiLogLoss, kMultiError };

// XGBoost's names for both ("binary:logistic", "auc").
const char* ObjectiveName(ObjectiveKind kind);
const char* MetricName(MetricKind kind);

// XGBoost's hyperparameters under XGBoost's names, meanings and defaults.
struct GbdtParameters {
  int64_t num_round = 10;
  double eta = 0.3;
  double lambda = 1;
  double alpha = 0;
  double gamma = 0;
  double min_child_weight = 1;
  int64_t max_depth = 6;   // 0: no limit
  int64_t max_leaves = 0;  // 0: no limit
  double max_delta_step = 0;
  double subsample = 1;
  double colsample_bytree = 1;  // of any fraction at least one column is taken, even of 0
  double colsample_bylevel = 1;
  double colsample_bynode = 1;
  int64_t max_bin = 256;
  double scale_pos_weight = 1;
  double base_score = 0.5;
  int64_t seed = 0;
  bool seed_given = false;
  int64_t nthread = 1;  // 0: as many as there are processors
  int64_t num_class = 0;
  int64_t early_stopping_rounds = 0;  // 0: off
  ObjectiveKind objective = ObjectiveKind::kSquaredError;
  std::vector<MetricKind> metrics;  // never empty: the objective's own where none was given

  int classes() const { return objective == ObjectiveKind::kSoftProb ? static_cast<int>(num_class) : 1; }
};

// Reads a JSON object of hyperparameters; a value is a number or a string that holds one. What is understood
// but has no effect here is added to `warnings`. InvalidArgument names the hyperparameter, its value and what
// was expected.
absl::StatusOr<GbdtParameters> ParseHyperparameters(const std::string& json_object,
                                                    std::vector<std::string>* warnings);

// What decides the model, as name to value: without the number of rounds and of threads. ParseHyperparameters
// reads it back. Two runs may share a checkpoint only where these are equal.
std::map<std::string, std::string> ModelHyperparameters(const GbdtParameters& parameters);

}  // namespace winnow
