#include "spec/builtin_trainers.h"

#include <re2/re2.h>

#include <algorithm>

#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow {
namespace {

constexpr int64_t kMostRounds = 1'000'000'000'000'000;

using Texts = std::map<std::string, std::string>;

// The configurations, with what they leave out taken from `defaults`.
std::vector<Texts> WithDefaults(const Texts& defaults, std::vector<Texts> configurations) {
  for (Texts& configuration : configurations) configuration.insert(defaults.begin(), defaults.end());
  return configurations;
}

// Common advice on boosted trees: XGBoost's own defaults; half-size steps with sampled rows and columns;
// small steps with few columns; shallow trees; deep trees with strong regularisation; for rare classes, large
// leaves and bounded steps.
std::vector<Texts> GbdtPortfolio() {
  const Texts defaults = {{"num_round", "10000000"},
                          {"eta", "0.3"},
                          {"max_depth", "6"},
                          {"min_child_weight", "1"},
                          {"gamma", "0"},
                          {"lambda", "1"},
                          {"alpha", "0"},
                          {"subsample", "1"},
                          {"colsample_bytree", "1"},
                          {"max_leaves", "0"},
                          {"colsample_bylevel", "1"},
                          {"colsample_bynode", "1"},
                          {"max_bin", "256"},
                          {"max_delta_step", "0"},
                          {"scale_pos_weight", "1"}};
  return WithDefaults(
      defaults,
      {{},
       {{"eta", "0.15"}, {"max_depth", "5"}, {"subsample", "0.8"}, {"colsample_bytree", "0.8"}},
       {{"eta", "0.05"}, {"min_child_weight", "5"}, {"subsample", "0.8"}, {"colsample_bytree", "0.5"}},
       {{"max_depth", "3"}, {"subsample", "0.8"}},
       {{"eta", "0.08"},
        {"max_depth", "9"},
        {"min_child_weight", "10"},
        {"gamma", "1"},
        {"lambda", "10"},
        {"alpha", "1"},
        {"subsample", "0.7"},
        {"colsample_bytree", "0.4"}},
       {{"eta", "0.1"},
        {"max_depth", "4"},
        {"min_child_weight", "20"},
        {"max_delta_step", "1"},
        {"subsample", "0.9"},
        {"colsample_bytree", "0.6"}}});
}

// Common advice on multilayer perceptrons: SGD with momentum; smaller steps that fall along a cosine; Adam;
// AdamW with dropout and decay on wider layers; large batches with a warm-up; a small network with dropout.
std::vector<Texts> MlpPortfolio() {
  const Texts defaults = {
      {"epochs", "1000000"},  {"learning_rate", "0.1"},   {"momentum", "0.9"},       {"batch_size", "128"},
      {"num_layers", "2"},    {"layer_width", "256"},     {"dropout", "0"},          {"input_dropout", "0"},
      {"weight_decay", "0"},  {"label_smoothing", "0"},   {"clip_norm", "0"},        {"warmup_epochs", "0"},
      {"beta1", "0.9"},       {"beta2", "0.999"},         {"epsilon", "0.00000001"}, {"optimizer", "sgd"},
      {"activation", "relu"}, {"schedule", "constant"},   {"batch_norm", "none"},    {"sift_beta", "0"},
      {"nesterov", "false"},  {"min_learning_rate", "0"}, {"weight_init", "he"}};
  return WithDefaults(
      defaults,
      {{},
       {{"learning_rate", "0.03"}, {"schedule", "cosine"}, {"weight_decay", "0.0005"}},
       {{"optimizer", "adam"}, {"learning_rate", "0.001"}},
       {{"optimizer", "adamw"},
        {"learning_rate", "0.002"},
        {"layer_width", "512"},
        {"dropout", "0.2"},
        {"weight_decay", "0.01"},
        {"schedule", "cosine"}},
       {{"batch_size", "512"}, {"learning_rate", "0.2"}, {"warmup_epochs", "1"}},
       {{"layer_width", "128"}, {"num_layers", "1"}, {"dropout", "0.1"}, {"learning_rate", "0.05"}}});
}

std::vector<BuiltinTrainer> MakeBuiltinTrainers() {
  const std::string resource_regex = R"(^\[([0-9]+)\])";  // "[0]", "[1]", ...: one less than the resource
  return {{"gbdt", &gbdt::GbdtDeclaration(), "num_round", resource_regex, 1, GbdtPortfolio()},
          {"mlp", &mlp::MlpDeclaration(), "epochs", resource_regex, 1, MlpPortfolio()}};
}

// The metrics that winnow-mlp prints apart from those of validation data: "train:loss" for those of
// `evaluated` that training computes anyway, or for all where nothing is validated; "samples-per-second"; and
// with distribution PARAMETER_SERVER how stale gradients were.
std::vector<std::string> MlpTrainingMetrics(const mlp::MlpParameters& p,
                                            const std::vector<std::string>& evaluated, bool validates) {
  const bool sees_rmse = p.loss == mlp::LossKind::kSquared && p.teacher.empty();
  const auto is_seen = [sees_rmse](const std::string& metric) {
    return metric == "loss" || metric == "accuracy" || metric == "error" || (metric == "rmse" && sees_rmse);
  };
  std::vector<std::string> printed;
  for (const std::string& metric : evaluated) {
    if (!validates || is_seen(metric)) printed.push_back("train:" + metric);
  }
  printed.emplace_back("samples-per-second");
  if (p.distribution == mlp::Distribution::kParameterServer) {
    printed.emplace_back("staleness-mean");
    printed.emplace_back("staleness-max");
  }
  return printed;
}

}  // namespace

std::optional<Hyperparameter> BuiltinTrainer::Find(std::string_view hyperparameter) const {
  const Hyperparameter* known = declaration->Find(hyperparameter);
  if (known == nullptr) return std::nullopt;
  Hyperparameter found = *known;
  if (found.name == resource_parameter) found.range.low = std::max(found.range.low, 1.0);
  return found;
}

const std::vector<BuiltinTrainer>& BuiltinTrainers() {
  static const std::vector<BuiltinTrainer> trainers = MakeBuiltinTrainers();
  return trainers;
}

const BuiltinTrainer* FindBuiltinTrainer(std::string_view name) {
  for (const BuiltinTrainer& trainer : BuiltinTrainers()) {
    if (trainer.name == name) return &trainer;
  }
  return nullptr;
}

Given GivenIn(const v1::TuningJobSpec& spec) {
  Given given;
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (trainer == nullptr) return given;
  for (const auto& [name, value] : spec.static_hyperparameters()) {
    const auto known = trainer->Find(name);
    if (known && Read(*known, value)) {
      given.values.emplace(known->name, value);
    } else if (known) {
      given.open.emplace(known->name);
    }
  }
  for (const v1::ParameterSpec& parameter : spec.parameters()) {
    if (const auto known = trainer->Find(parameter.name())) given.open.emplace(known->name);
  }
  for (const std::string& name : given.open) given.values.erase(name);
  return given;
}

int64_t FixedEndOf(const v1::TuningJobSpec& spec) {
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (trainer == nullptr) return 0;
  std::string text = trainer->declaration->DefaultOf(trainer->resource_parameter);
  for (const auto& [name, value] : spec.static_hyperparameters()) {
    if (trainer->FirstName(name) == trainer->resource_parameter && !value.empty()) text = value;
  }
  const int64_t rounds = ReadWhole(text).value_or(0);
  return rounds >= 1 && rounds < kMostRounds ? rounds : 0;
}

std::vector<std::string> PrintedMetrics(const v1::TuningJobSpec& spec) {
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (trainer == nullptr) return {};
  const auto train = spec.channels().find("train");
  const bool split = train != spec.channels().end() && train->second.validation_fraction() > 0;
  const bool validates = split || spec.channels().count("validation") > 0;
  const Given given = GivenIn(spec);
  const std::vector<std::string> evaluated = trainer->declaration->metrics(given);
  const bool is_mlp = trainer->name == "mlp";
  std::vector<std::string> printed;
  if (is_mlp) {
    printed = MlpTrainingMetrics(mlp::KnownMlpParameters(given), evaluated, validates);
  } else {
    printed = gbdt::ModelMetrics(given);
  }
  for (const std::string& metric : evaluated) {
    if (!is_mlp) printed.push_back("train:" + metric);
    if (validates) printed.push_back("validation:" + metric);
  }
  return printed;
}

std::string PrintedMetricRegex(std::string_view part, std::string_view metric) {
  return PrintedMetricRegex(std::string(part) + ":" + std::string(metric));
}

std::string PrintedMetricRegex(const std::string& printed) {
  std::string name = printed;
  if (const size_t colon = name.find(':'); colon != std::string::npos) name[colon] = '-';
  return R"((?:^|\s))" + RE2::QuoteMeta(name) + R"(:(\S+))";
}

}  // namespace winnow
