#include "spec/builtin_mlp.h"

#include <algorithm>
#include <map>
#include <utility>

namespace winnow {
namespace {

using Kind = HyperparameterKind;

constexpr double kMostReal = 1e9, kMostWhole = 1e6, kMostParts = 1024;

enum class Ends { kClosed, kOpenBelow, kOpenAbove };

BuiltinHyperparameter Real(std::string name, double min, double max, Ends ends = Ends::kClosed) {
  BuiltinHyperparameter known = {std::move(name), Kind::kReal, min, max, ends == Ends::kOpenBelow, {}, true};
  known.below_max = ends == Ends::kOpenAbove;
  return known;
}
BuiltinHyperparameter Integer(std::string name, double min, double max, bool tunable = true) {
  return {std::move(name), Kind::kInteger, min, max, false, {}, tunable};
}
BuiltinHyperparameter Words(std::string name, std::vector<std::string> choices,
                            std::vector<std::pair<std::string, std::string>> synonyms = {}) {
  BuiltinHyperparameter known = {std::move(name), Kind::kText, {}, {}, false, std::move(choices), true};
  known.any_case = true;
  known.synonyms = std::move(synonyms);
  return known;
}
BuiltinHyperparameter Truth(std::string name) {
  return Words(std::move(name), {"true", "false"}, {{"1", "true"}, {"0", "false"}});
}
BuiltinHyperparameter Fixed(BuiltinHyperparameter known) {
  known.tunable = false;
  return known;
}
BuiltinHyperparameter Text(std::string name, bool tunable) {
  return {std::move(name), Kind::kText, {}, {}, false, {}, tunable};
}

void AddNetwork(std::vector<BuiltinHyperparameter>* all) {
  all->insert(all->end(),
              {Text("hidden_layers", true), Integer("num_layers", 1, 64), Integer("layer_width", 1, 65536),
               Words("activation", {"relu", "leaky_relu", "gelu", "tanh"}, {{"leakyrelu", "leaky_relu"}}),
               Real("leaky_slope", 0, 1), Real("dropout", 0, 1, Ends::kOpenAbove),
               Real("input_dropout", 0, 1, Ends::kOpenAbove),
               Words("batch_norm", {"none", "synchronised", "per_rank"}, {{"synchronized", "synchronised"}}),
               Real("batch_norm_momentum", 0, 1, Ends::kOpenBelow),
               Words("weight_init", {"he", "glorot"}, {{"kaiming", "he"}, {"xavier", "glorot"}}),
               Fixed(Words("loss", {"cross_entropy", "logistic", "mse", "huber"},
                           {{"softmax", "cross_entropy"}, {"squared", "mse"}})),
               Integer("num_class", 0, 65536, false), Real("label_smoothing", 0, 1, Ends::kOpenAbove),
               Real("huber_delta", 0, kMostReal, Ends::kOpenBelow)});
}

void AddSteps(std::vector<BuiltinHyperparameter>* all) {
  all->insert(
      all->end(),
      {Integer("epochs", 1, kMostWhole), Integer("batch_size", 1, kMostWhole),
       Words("optimizer", {"sgd", "adam", "adamw", "lamb"}), Real("learning_rate", 0, 1000, Ends::kOpenBelow),
       Real("momentum", 0, 1, Ends::kOpenAbove), Truth("nesterov"), Real("beta1", 0, 1, Ends::kOpenAbove),
       Real("beta2", 0, 1, Ends::kOpenAbove), Real("epsilon", 0, 1, Ends::kOpenBelow),
       Real("weight_decay", 0, 1000), Real("clip_norm", 0, kMostReal),
       Words("schedule", {"constant", "step", "cosine"}), Integer("step_epochs", 1, kMostWhole),
       Real("step_factor", 0, 1, Ends::kOpenBelow), Real("min_learning_rate", 0, 1000),
       Real("warmup_epochs", 0, kMostWhole), Integer("early_stopping_epochs", 0, kMostWhole)});
}

void AddRanks(std::vector<BuiltinHyperparameter>* all) {
  all->insert(all->end(),
              {Words("distribution", {"ALL_REDUCE", "ZERO", "PIPELINE", "LOCAL_SGD", "PARAMETER_SERVER"}),
               Integer("virtual_shards", 0, kMostParts), Words("batch_scaling", {"NONE", "LINEAR"}),
               Truth("scale_learning_rate"), Words("compression", {"none", "bf16", "int8"}),
               Integer("local_steps", 1, kMostWhole), Integer("micro_batches", 0, kMostParts),
               Integer("pipeline_stages", 0, kMostParts), Integer("staleness_bound", -1, kMostWhole),
               Truth("staleness_aware"), Real("delay_compensation", 0, kMostReal),
               Real("implicit_momentum_correction", 0, 1)});
}

void AddRest(std::vector<BuiltinHyperparameter>* all) {
  all->insert(
      all->end(),
      {Real("sift_beta", 0, 100), Real("sift_delay", 0, kMostWhole), Integer("loss_history_length", 1, 1e7),
       Integer("sift_reuse_epochs", 0, kMostWhole), Text("teacher", false),
       Real("teacher_temperature", 0, 1000, Ends::kOpenBelow), Real("teacher_weight", 0, 1),
       Words("precision", {"f32", "bf16"}, {{"float32", "f32"}, {"bfloat16", "bf16"}}),
       Integer("nthread", 1, kMostParts, false), Integer("seed", 0, 9e15), Fixed(Truth("profile")),
       Text("eval_metric", false), Truth("standardise")});
}

// Second names; those with dashes are added to them.
std::vector<std::pair<std::string, std::string>> Aliases(const std::vector<BuiltinHyperparameter>& all) {
  std::vector<std::pair<std::string, std::string>> aliases = {
      {"lr", "learning_rate"},
      {"eta", "learning_rate"},
      {"mini_batch_size", "batch_size"},
      {"num_epochs", "epochs"},
      {"n_epochs", "epochs"},
      {"l2", "weight_decay"},
      {"wd", "weight_decay"},
      {"dropout_rate", "dropout"},
      {"hidden_units", "hidden_layers"},
      {"clip_gradient", "clip_norm"},
      {"max_grad_norm", "clip_norm"},
      {"num_classes", "num_class"},
      {"early_stopping_patience", "early_stopping_epochs"},
      {"random_state", "seed"},
      {"n_jobs", "nthread"}};
  const auto dashed = [](std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
  };
  for (size_t i = 0, count = aliases.size(); i < count; ++i) {
    const auto [alias, meant] = aliases[i];
    if (dashed(alias) != alias) aliases.emplace_back(dashed(alias), meant);
  }
  for (const BuiltinHyperparameter& known : all) {
    if (dashed(known.name) != known.name) aliases.emplace_back(dashed(known.name), known.name);
  }
  return aliases;
}

// What is said of multilayer perceptrons again and again: SGD with momentum; smaller steps that fall along a
// cosine; Adam; AdamW with dropout and decay on wider layers; large batches with a warm-up; a small network
// with dropout.
std::vector<std::map<std::string, std::string>> Portfolio() {
  const std::map<std::string, std::string> defaults = {
      {"epochs", "1000000"},  {"learning_rate", "0.1"},   {"momentum", "0.9"},       {"batch_size", "128"},
      {"num_layers", "2"},    {"layer_width", "256"},     {"dropout", "0"},          {"input_dropout", "0"},
      {"weight_decay", "0"},  {"label_smoothing", "0"},   {"clip_norm", "0"},        {"warmup_epochs", "0"},
      {"beta1", "0.9"},       {"beta2", "0.999"},         {"epsilon", "0.00000001"}, {"optimizer", "sgd"},
      {"activation", "relu"}, {"schedule", "constant"},   {"batch_norm", "none"},    {"sift_beta", "0"},
      {"nesterov", "false"},  {"min_learning_rate", "0"}, {"weight_init", "he"}};
  const auto with = [&defaults](std::map<std::string, std::string> other) {
    other.insert(defaults.begin(), defaults.end());
    return other;
  };
  return {with({}),
          with({{"learning_rate", "0.03"}, {"schedule", "cosine"}, {"weight_decay", "0.0005"}}),
          with({{"optimizer", "adam"}, {"learning_rate", "0.001"}}),
          with({{"optimizer", "adamw"},
                {"learning_rate", "0.002"},
                {"layer_width", "512"},
                {"dropout", "0.2"},
                {"weight_decay", "0.01"},
                {"schedule", "cosine"}}),
          with({{"batch_size", "512"}, {"learning_rate", "0.2"}, {"warmup_epochs", "1"}}),
          with({{"layer_width", "128"}, {"num_layers", "1"}, {"dropout", "0.1"}, {"learning_rate", "0.05"}})};
}

}  // namespace

BuiltinTrainer MlpTrainer() {
  BuiltinTrainer trainer;
  trainer.name = "mlp";
  trainer.program = "winnow-mlp";
  trainer.resource_parameter = "epochs";
  trainer.default_resource = 20;
  trainer.resource_regex = R"(^\[([0-9]+)\])";
  trainer.resource_offset = 1;
  trainer.metrics = {"loss", "logloss", "accuracy", "error", "auc", "rmse", "mae"};
  trainer.metric_regex = "top[1-9][0-9]{0,5}";
  trainer.metric_examples = {"top5"};
  trainer.metrics_by = "loss";
  trainer.own_metrics = {{"cross_entropy", {"loss", "accuracy"}},
                         {"logistic", {"loss", "auc"}},
                         {"mse", {"loss", "rmse"}},
                         {"huber", {"loss", "rmse"}}};
  trainer.trains_as_it_validates = false;
  AddNetwork(&trainer.hyperparameters);
  AddSteps(&trainer.hyperparameters);
  AddRanks(&trainer.hyperparameters);
  AddRest(&trainer.hyperparameters);
  trainer.aliases = Aliases(trainer.hyperparameters);
  trainer.portfolio = Portfolio();
  return trainer;
}

std::vector<std::string> MlpTrainingMetrics(const v1::TuningJobSpec& spec,
                                            const std::vector<std::string>& evaluated, bool validates) {
  const BuiltinTrainer& mlp = *FindBuiltinTrainer("mlp");
  const auto chosen = [&](const char* name) {
    return ChoiceOf(*mlp.Find(name), StaticValue(spec, name)).value_or("");
  };
  const bool sees_rmse = chosen("loss") == "mse" && StaticValue(spec, "teacher").empty();
  const auto is_seen = [sees_rmse](const std::string& metric) {
    return metric == "loss" || metric == "accuracy" || metric == "error" || (metric == "rmse" && sees_rmse);
  };
  std::vector<std::string> printed;
  for (const std::string& metric : evaluated) {
    if (!validates || is_seen(metric)) printed.push_back("train:" + metric);
  }
  printed.emplace_back("samples-per-second");
  if (chosen("distribution") == "PARAMETER_SERVER") {
    printed.emplace_back("staleness-mean");
    printed.emplace_back("staleness-max");
  }
  return printed;
}

}  // namespace winnow
