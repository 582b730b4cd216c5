#include "trainers/mlp/hyperparameters/hyperparameter_checks.h"

#include <fmt/format.h>

#include "trainers/mlp/hyperparameters/hyperparameter_tables.h"
#include "trainers/mlp/hyperparameters/metric.h"

namespace winnow::mlp {
namespace {

bool Asynchronous(const MlpParameters& p) { return p.distribution == Distribution::kParameterServer; }
bool Averages(const MlpParameters& p) { return p.distribution == Distribution::kLocalSgd; }
bool Pipelined(const MlpParameters& p) { return p.distribution == Distribution::kPipeline; }
bool Adaptive(const MlpParameters& p) { return p.optimizer != OptimizerKind::kSgd; }
bool Sgd(const MlpParameters& p) { return p.optimizer == OptimizerKind::kSgd; }
bool Taught(const MlpParameters& p) { return !p.teacher.empty(); }

// Hyperparameters that matter only with a certain other choice.
struct SpecialCase {
  const char* name;
  bool (*matters)(const MlpParameters&);
  const char* where;
};
constexpr SpecialCase kSpecial[] = {
    {"leaky_slope", [](const auto& p) { return p.activation == Activation::kLeakyRelu; },
     "activation leaky_relu"},
    {"batch_norm_momentum", [](const auto& p) { return p.batch_norm != BatchNorm::kNone; },
     "batch_norm synchronised or per_rank"},
    {"label_smoothing", [](const auto& p) { return p.loss == LossKind::kCrossEntropy; },
     "loss cross_entropy"},
    {"huber_delta", [](const auto& p) { return p.loss == LossKind::kHuber; }, "loss huber"},
    {"momentum", Sgd, "optimizer sgd"},
    {"nesterov", Sgd, "optimizer sgd"},
    {"beta1", Adaptive, "optimizer adam, adamw or lamb"},
    {"beta2", Adaptive, "optimizer adam, adamw or lamb"},
    {"epsilon", Adaptive, "optimizer adam, adamw or lamb"},
    {"step_epochs", [](const auto& p) { return p.schedule == ScheduleKind::kStep; }, "schedule step"},
    {"step_factor", [](const auto& p) { return p.schedule == ScheduleKind::kStep; }, "schedule step"},
    {"min_learning_rate", [](const auto& p) { return p.schedule == ScheduleKind::kCosine; },
     "schedule cosine"},
    {"local_steps", Averages, "distribution LOCAL_SGD"},
    {"micro_batches", Pipelined, "distribution PIPELINE"},
    {"pipeline_stages", Pipelined, "distribution PIPELINE"},
    {"staleness_bound", Asynchronous, "distribution PARAMETER_SERVER"},
    {"staleness_aware", Asynchronous, "distribution PARAMETER_SERVER"},
    {"delay_compensation", Asynchronous, "distribution PARAMETER_SERVER"},
    {"implicit_momentum_correction", Asynchronous, "distribution PARAMETER_SERVER"},
    {"teacher_temperature", Taught, "teacher"},
    {"teacher_weight", Taught, "teacher"},
};

absl::Status Contradiction(const char* name, const std::string& value, const std::string& expected) {
  return absl::InvalidArgumentError(
      fmt::format("hyperparameter {} = {}: expected {}", name, value, expected));
}

std::string ValueText(const MlpParameters& p, const std::string& name) {
  for (const MlpChoice& choice : MlpChoices()) {
    if (name == choice.name) return WordOf(choice, choice.get(p));
  }
  return "";
}

absl::Status CheckMetrics(const MlpParameters& p) {
  for (const std::string& name : p.metrics) {
    const absl::StatusOr<MlpMetric> metric = ParseMlpMetric(name, p.loss);
    if (!metric.ok())
      return absl::InvalidArgumentError(
          fmt::format("hyperparameter {}", std::string(metric.status().message())));
    // Requires the canonical name, because that is printed and searched for.
    if (MlpMetricName(*metric) != name)
      return Contradiction("eval_metric", name, "it written as " + MlpMetricName(*metric));
  }
  return absl::OkStatus();
}

absl::Status CheckSteps(const MlpParameters& p) {
  if (p.nesterov && p.optimizer == OptimizerKind::kSgd && p.momentum == 0)
    return Contradiction("nesterov", "true", "momentum above 0");
  if (p.schedule == ScheduleKind::kCosine && p.min_learning_rate > p.learning_rate)
    return Contradiction("min_learning_rate", fmt::format("{}", p.min_learning_rate),
                         fmt::format("at most learning_rate = {}", p.learning_rate));
  if (p.batch_norm != BatchNorm::kNone && p.batch_size < 2)
    return Contradiction("batch_size", fmt::format("{}", p.batch_size), "at least 2 with batch_norm");
  if (p.virtual_shards > p.batch_size)
    return Contradiction("virtual_shards", fmt::format("{}", p.virtual_shards),
                         fmt::format("at most batch_size = {}", p.batch_size));
  if (Pipelined(p) && p.micro_batches > p.batch_size)
    return Contradiction("micro_batches", fmt::format("{}", p.micro_batches),
                         fmt::format("at most batch_size = {}", p.batch_size));
  return absl::OkStatus();
}

absl::Status CheckRanks(const MlpParameters& p) {
  const std::string distribution = ValueText(p, "distribution");
  if (p.scale_learning_rate && p.batch_scaling != BatchScaling::kLinear)
    return Contradiction("scale_learning_rate", "true", "batch_scaling LINEAR");
  if (p.compression != Compression::kNone && p.distribution != Distribution::kAllReduce)
    return Contradiction("compression", ValueText(p, "compression"),
                         "none with distribution " + distribution + ", or distribution ALL_REDUCE");
  if (p.batch_norm != BatchNorm::kNone && Pipelined(p))
    return Contradiction("batch_norm", ValueText(p, "batch_norm"), "none with distribution PIPELINE");
  if (p.optimizer == OptimizerKind::kLamb && Asynchronous(p))
    return Contradiction("optimizer", "lamb", "sgd, adam or adamw with distribution PARAMETER_SERVER");
  if (p.sift_beta > 0 && (Asynchronous(p) || Averages(p)))
    return Contradiction("sift_beta", fmt::format("{}", p.sift_beta), "0 with distribution " + distribution);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMlpTogether(const MlpParameters& p, const std::set<std::string>& given) {
  for (const char* name : {"sift_delay", "loss_history_length", "sift_reuse_epochs"}) {
    if (given.count(name) > 0 && given.count("sift_beta") == 0)
      return absl::InvalidArgumentError(
          fmt::format("hyperparameter {} is given without sift_beta: expected both or none", name));
  }
  if (p.loss == LossKind::kCrossEntropy ? p.num_class == 1 : p.num_class > 1)
    return Contradiction("num_class", fmt::format("{}", p.num_class),
                         p.num_class == 1 ? "0 or at least 2 with loss cross_entropy"
                                          : "none with loss " + ValueText(p, "loss"));
  if (absl::Status status = CheckMetrics(p); !status.ok()) return status;
  if (absl::Status status = CheckSteps(p); !status.ok()) return status;
  return CheckRanks(p);
}

std::vector<std::string> MlpWarnings(const MlpParameters& p, const std::set<std::string>& given) {
  std::vector<std::string> warnings;
  for (const SpecialCase& special : kSpecial) {
    if (given.count(special.name) > 0 && !special.matters(p))
      warnings.push_back(
          fmt::format("hyperparameter {} has no effect but with {}", special.name, special.where));
  }
  if (p.warmup_epochs > static_cast<double>(p.epochs))
    warnings.push_back(
        fmt::format("warmup_epochs = {} is more than epochs = {}: the learning rate never "
                    "reaches what is asked for",
                    p.warmup_epochs, p.epochs));
  if (Asynchronous(p))
    warnings.push_back(
        "distribution PARAMETER_SERVER on several ranks depends on who is faster: results cannot be "
        "repeated, and change with the number of ranks");
  if (Averages(p))
    warnings.push_back("distribution LOCAL_SGD gives other results on another number of ranks");
  if (p.compression != Compression::kNone)
    warnings.push_back("compression " + ValueText(p, "compression") +
                       " changes results, and gives others on another number of ranks");
  if (p.batch_norm == BatchNorm::kPerRank)
    warnings.push_back("batch_norm per_rank gives other results on another number of ranks");
  if (p.batch_scaling == BatchScaling::kLinear)
    warnings.push_back("batch_scaling LINEAR gives other results on another number of ranks");
  return warnings;
}

}  // namespace winnow::mlp
