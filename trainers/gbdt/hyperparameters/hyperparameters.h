#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/hyperparameters/declaration.h"

namespace winnow::gbdt {

enum class ObjectiveKind {
  kBinaryLogistic,
  kBinaryLogitRaw,
  kBinaryHinge,
  kSquaredError,
  kSquaredLogError,
  kRegLogistic,
  kAbsoluteError,
  kPseudoHuber,
  kQuantile,
  kPoisson,
  kGamma,
  kTweedie,
  kSoftMax,
  kSoftProb,
  kRankNdcg,
  kRankPairwise,
};
enum class GrowPolicy { kDepthWise, kLossGuide };
enum class BoosterKind { kTree, kDart };

// An evaluation metric as XGBoost names it: "auc", "error@0.7", "ndcg@5-"; accuracy, f1 and mse are
// SageMaker's.
struct Metric {
  enum Kind : uint8_t {
    kAuc,
    kAucPr,
    kLogLoss,
    kError,
    kRmse,
    kRmsle,
    kMae,
    kMape,
    kPseudoHuber,
    kMultiLogLoss,
    kMultiError,
    kPoissonLoss,
    kGammaLoss,
    kGammaDeviance,
    kTweedieLoss,
    kQuantile,
    kNdcg,
    kMap,
    kPrecision,
    kAccuracy,
    kF1,
    kMse,
  };

  Metric(Kind what = kRmse) : kind(what) {}  // NOLINT(google-explicit-constructor): a kind is a metric
  bool operator==(const Metric&) const = default;

  Kind kind;
  std::optional<double> at;  // error: the threshold (0.5); tweedie-nloglik: the power
                             // (tweedie_variance_power's); ndcg, map, pre: how many rows
  bool minus = false;        // ndcg, map: a group without a relevant row counts 0 instead of 1
};
using MetricKind = Metric;

// XGBoost's names for both.
const char* ObjectiveName(ObjectiveKind kind);
std::optional<ObjectiveKind> FindObjective(std::string_view name);
std::string MetricName(const Metric& metric);

// XGBoost's hyperparameters under XGBoost's names and with its defaults. GbdtDeclaration has their ranges and
// meanings.
struct GbdtParameters {
  int64_t num_round = 10;
  double eta = 0.3;
  double lambda = 1;
  double alpha = 0;
  double gamma = 0;
  double min_child_weight = 1;
  int64_t max_depth = 6;
  int64_t max_leaves = 0;
  double max_delta_step = 0;  // with count:poisson 0.7 unless given, as in XGBoost
  double subsample = 1;
  double colsample_bytree = 1;
  double colsample_bylevel = 1;
  double colsample_bynode = 1;
  int64_t max_bin = 256;
  double scale_pos_weight = 1;
  // Where base_score_given is false and EstimatesBaseScore(objective), the engine puts the estimate here.
  double base_score = 0.5;
  bool base_score_given = false;
  int64_t seed = 0;
  bool seed_given = false;
  int64_t nthread = 1;
  int64_t num_class = 0;
  int64_t early_stopping_rounds = 0;
  GrowPolicy grow_policy = GrowPolicy::kDepthWise;
  int64_t num_parallel_tree = 1;

  // Constraints as given; hyperparameter_constraints.h finds the features that they mean.
  std::vector<int> monotone_constraints;        // by feature number: -1, 0 or 1; empty: none
  std::map<std::string, int> monotone_by_name;  // the same by feature name; at most one of the two is given
  std::vector<std::vector<std::string>> interaction_constraints;  // groups of feature names or numbers

  BoosterKind booster = BoosterKind::kTree;
  bool dart_weighted_sample = false;  // sample_type=weighted
  bool dart_forest = false;           // normalize_type=forest
  double rate_drop = 0;
  bool one_drop = false;
  double skip_drop = 0;

  bool enable_categorical = false;
  int64_t max_cat_to_onehot = 4;
  int64_t max_cat_threshold = 64;

  double huber_slope = 1;
  double tweedie_variance_power = 1.5;
  double quantile_alpha = 0.5;
  int64_t lambdarank_num_pair_per_sample = 32;
  bool ndcg_exp_gain = true;

  bool friedman_hessian = false;  // "multi_hessian" is lightgbm, not xgboost
  bool wide_gradients = false;    // "gradient_bits" is 30, not 16
  bool model_size = false;        // reports kModelLeaves
  bool prediction_time = false;   // reports kPredictionTime

  ObjectiveKind objective = ObjectiveKind::kSquaredError;
  std::vector<Metric> metrics;  // never empty: the objective's own where none was given

  bool multi() const { return objective == ObjectiveKind::kSoftProb || objective == ObjectiveKind::kSoftMax; }
  bool ranking() const {
    return objective == ObjectiveKind::kRankNdcg || objective == ObjectiveKind::kRankPairwise;
  }
  // The factor of p (1 - p) in the hessian of a class of multi:*: XGBoost's 2, or K / (K - 1) with K classes
  // (Friedman 2001), of which one is redundant.
  float multi_hessian_factor() const {
    return friedman_hessian ? static_cast<float>(num_class) / static_cast<float>(num_class - 1) : 2.0f;
  }
  int classes() const { return multi() ? static_cast<int>(num_class) : 1; }
};

// Whether XGBoost estimates base_score from the labels unless it is given.
inline bool EstimatesBaseScore(ObjectiveKind objective) {
  return objective == ObjectiveKind::kAbsoluteError || objective == ObjectiveKind::kQuantile;
}

// Metrics of the model so far beside those of eval_metric, as jobs name them: the leaves of all its trees;
// and the time of a prediction by one thread (prediction_timer.h).
inline constexpr const char* kModelLeaves = "model:leaves";
inline constexpr const char* kPredictionTime = "prediction:microseconds_per_row";
// Those that the hyperparameters ask for. A value that is not known yet asks for none.
std::vector<std::string> ModelMetrics(const Given& given);
std::vector<std::string> ModelMetrics(const GbdtParameters& parameters);

// What winnow-gbdt takes: the one declaration that the trainer, the job checks and the reference read.
const Declaration& GbdtDeclaration();

// Reads a JSON object of hyperparameters; a value is a number or a string that holds one. What is understood
// but has no effect here is added to `warnings`. InvalidArgument names the hyperparameter, its value and what
// was expected.
absl::StatusOr<GbdtParameters> ParseHyperparameters(const std::string& json_object,
                                                    std::vector<std::string>* warnings);

// The hyperparameters that decide the model, by name: without the numbers of rounds and of threads.
// ParseHyperparameters reads them back, except that a base_score which is estimated is the word "estimated".
// Two runs may share a checkpoint only where these are equal.
std::map<std::string, std::string> ModelHyperparameters(const GbdtParameters& parameters);

}  // namespace winnow::gbdt
