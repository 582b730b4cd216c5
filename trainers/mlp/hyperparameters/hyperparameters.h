#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/hyperparameters/declaration.h"

namespace winnow::mlp {

enum class Activation { kRelu, kLeakyRelu, kGelu, kTanh };
enum class LossKind {
  kCrossEntropy,  // softmax over classes, labels 0, 1, ...
  kLogistic,      // one output, labels 0 and 1
  kSquared,       // "mse"
  kHuber,
};
enum class OptimizerKind { kSgd, kAdam, kAdamW, kLamb };
enum class ScheduleKind { kConstant, kStep, kCosine };
enum class WeightInit { kHe, kGlorot, kFanIn };
enum class Precision { kF32, kBf16 };
enum class BatchNorm { kNone, kSynchronised, kPerRank };
// The distribution of work over ranks (docs/mlp.md).
enum class Distribution { kAllReduce, kZero, kPipeline, kLocalSgd, kParameterServer };
enum class Compression { kNone, kBf16, kInt8 };
enum class BatchScaling { kNone, kLinear };

// Hyperparameters of winnow-mlp under the names they are given by, with their defaults. MlpDeclaration has
// their ranges and meanings.
struct MlpParameters {
  // The network.
  std::vector<int> hidden_layers = {256, 128};
  Activation activation = Activation::kRelu;
  double leaky_slope = 0.01;
  double dropout = 0;
  double input_dropout = 0;
  BatchNorm batch_norm = BatchNorm::kNone;
  double batch_norm_momentum = 0.1;
  WeightInit weight_init = WeightInit::kFanIn;
  bool weight_init_given = false;

  // The loss.
  LossKind loss = LossKind::kCrossEntropy;
  int num_class = 0;
  double label_smoothing = 0;
  double huber_delta = 1;
  std::vector<std::string> metrics;  // eval_metric; empty: the metrics of the loss
  bool standardise = true;
  bool standardise_label = true;

  // Steps.
  int64_t epochs = 20;
  int64_t batch_size = 128;
  OptimizerKind optimizer = OptimizerKind::kSgd;
  double learning_rate = 0.1;
  double momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;
  double clip_norm = 0;
  ScheduleKind schedule = ScheduleKind::kConstant;
  int64_t step_epochs = 10;
  double step_factor = 0.1;
  double min_learning_rate = 0;
  double warmup_epochs = 0;
  int64_t early_stopping_epochs = 0;

  // Several ranks.
  Distribution distribution = Distribution::kAllReduce;
  int virtual_shards = 0;  // 0: DefaultVirtualShards
  BatchScaling batch_scaling = BatchScaling::kNone;
  bool scale_learning_rate = false;
  Compression compression = Compression::kNone;
  int64_t local_steps = 8;
  int micro_batches = 0;
  int pipeline_stages = 0;
  int64_t staleness_bound = -1;
  bool staleness_aware = false;
  double delay_compensation = 0;
  double implicit_momentum_correction = 0;

  // Fewer samples.
  double sift_beta = 0;
  double sift_delay = 1;
  int64_t loss_history_length = 1024;
  int64_t sift_reuse_epochs = 0;

  // Distillation.
  std::string teacher;  // model file; "": none
  double teacher_temperature = 2;
  double teacher_weight = 0.5;

  // How it is computed.
  Precision precision = Precision::kF32;
  int64_t nthread = 1;
  uint64_t seed = 0;
  bool seed_given = false;
  bool profile = false;
};

// What winnow-mlp takes: the one declaration that the trainer, the job checks and the reference read.
const Declaration& MlpDeclaration();

// The parameters as far as they are known, with defaults where nothing is given.
MlpParameters KnownMlpParameters(const Given& given);

const char* LossName(LossKind loss);

// Reads the JSON object of SM_HPS. InvalidArgument as "hyperparameter learning_rate = -1: expected ...".
// Warnings, which rank 0 prints, are added to *warnings.
absl::StatusOr<MlpParameters> ParseMlpHyperparameters(const std::string& json,
                                                      std::vector<std::string>* warnings);

// The hyperparameters that decide the model and its metrics, as texts for ParseMlpHyperparameters.
// Model files hold them, and ranks compare them. nthread and profile are left out, epochs unless the schedule
// depends on it, and standardise_label unless the loss is one of regression.
std::vector<std::pair<std::string, std::string>> ModelHyperparameters(const MlpParameters& parameters);

// The number of parts that a batch is cut into, of which ranks take whole ones: 12 where each has 8 rows or
// more, else 4, 2 or 1.
int DefaultVirtualShards(int64_t batch_size);

// The learning rate of step `step`, which counts from 0, with `epoch_steps` steps an epoch. With
// scale_learning_rate it is multiplied by `ranks`.
double LearningRateAt(const MlpParameters& parameters, int64_t step, int64_t epoch_steps, int ranks);

}  // namespace winnow::mlp
