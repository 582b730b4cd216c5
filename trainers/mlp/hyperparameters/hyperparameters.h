#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

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
enum class WeightInit { kHe, kGlorot };
enum class Precision { kF32, kBf16 };
enum class BatchNorm { kNone, kSynchronised, kPerRank };
// The distribution of work over ranks (docs/mlp.md).
enum class Distribution { kAllReduce, kZero, kPipeline, kLocalSgd, kParameterServer };
enum class Compression { kNone, kBf16, kInt8 };
enum class BatchScaling { kNone, kLinear };

// Hyperparameters of winnow-mlp, under their public names. docs/mlp.md describes each.
struct MlpParameters {
  // The network: hidden layers, their widths first to last ("hidden_layers" = "256,128"); or num_layers of
  // layer_width each, which can be tuned.
  std::vector<int> hidden_layers = {256, 128};
  Activation activation = Activation::kRelu;
  double leaky_slope = 0.01;
  double dropout = 0;        // fraction of each hidden layer's units that a step drops, [0, 1)
  double input_dropout = 0;  // fraction of the inputs that a step drops
  BatchNorm batch_norm = BatchNorm::kNone;
  double batch_norm_momentum = 0.1;  // weight of the newest batch in the running statistics
  WeightInit weight_init = WeightInit::kHe;

  // The loss.
  LossKind loss = LossKind::kCrossEntropy;
  int num_class = 0;  // outputs; 0: from the training labels
  double label_smoothing = 0;
  double huber_delta = 1;

  // Steps.
  int64_t epochs = 20;
  int64_t batch_size = 128;  // rows of one step over all ranks (but see batch_scaling)
  OptimizerKind optimizer = OptimizerKind::kSgd;
  double learning_rate = 0.1;
  double momentum = 0;  // for SGD
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // for Adam, AdamW and LAMB
  double weight_decay = 0;                            // of weights, not of biases and batch norm
  double clip_norm = 0;                               // largest global norm of gradients; 0: unlimited
  ScheduleKind schedule = ScheduleKind::kConstant;
  int64_t step_epochs = 10;           // kStep: after every so many epochs...
  double step_factor = 0.1;           // ... the rate is multiplied by this
  double min_learning_rate = 0;       // end of kCosine
  double warmup_epochs = 0;           // linear from 0 at the start
  int64_t early_stopping_epochs = 0;  // without a better last metric on the validation data; 0: never

  // Several ranks.
  Distribution distribution = Distribution::kAllReduce;
  int virtual_shards = 0;  // parts of a batch, which are not divided between ranks; 0: DefaultVirtualShards
  BatchScaling batch_scaling = BatchScaling::kNone;
  bool scale_learning_rate = false;  // with kLinear: times the ranks (Goyal et al. 2017)
  Compression compression = Compression::kNone;
  int64_t local_steps = 8;  // kLocalSgd: steps between two averages
  int micro_batches = 0;    // kPipeline; 0: as many as virtual shards
  int pipeline_stages = 0;  // kPipeline: ranks per copy; 0: all
  // For kParameterServer.
  int64_t staleness_bound = -1;   // most steps that the fastest rank may be ahead; -1: any
  bool staleness_aware = false;   // divides a step by its gradient's staleness (Zhang et al. 2016)
  double delay_compensation = 0;  // lambda of DC-ASGD (Zheng et al. 2017)
  double implicit_momentum_correction =
      0;  // fraction of 1 - 1/ranks subtracted from the momentum (Mitliagkas et al. 2016)

  // Fewer samples.
  double sift_beta = 0;   // a sample trains with probability (percentile of its loss)^sift_beta; 0: always
  double sift_delay = 1;  // epochs before sifting begins
  int64_t loss_history_length = 1024;  // number of losses for the percentile
  int64_t sift_reuse_epochs =
      0;  // epochs for which a sample's loss is reused; 0: never reused

  // Distillation.
  std::string teacher;  // model file; "": none
  double teacher_temperature = 2;
  double teacher_weight = 0.5;  // of the teacher's loss; the labels' loss has 1 minus it

  // How it is computed.
  Precision precision = Precision::kF32;
  int64_t nthread = 1;
  uint64_t seed = 0;
  bool seed_given = false;
  bool profile = false;
  std::vector<std::string>
      metrics;              // eval_metric: loss, accuracy, error, top5 (topK), auc, rmse, mae; empty: by loss
  bool standardise = true;  // features to mean 0 and deviation 1 of the training data
};

// Reads SM_HPS. InvalidArgument as "hyperparameter learning_rate = -1: expected ...", also for unknown names;
// adds warnings (printed by rank 0 on standard error) to *warnings.
absl::StatusOr<MlpParameters> ParseMlpHyperparameters(const std::string& json,
                                                      std::vector<std::string>* warnings);

// Returns every hyperparameter as text that ParseMlpHyperparameters reads back, for model files and
// comparisons between ranks. Leaves out those that affect neither the model nor its metrics (nthread,
// profile), and `epochs` unless the schedule depends on it.
std::vector<std::pair<std::string, std::string>> ModelHyperparameters(const MlpParameters& parameters);

// Returns the number of parts of a batch, so that ranks can take equal numbers of them: 12 if each has 8 rows
// or more, otherwise 4, 2 or 1.
int DefaultVirtualShards(int64_t batch_size);

// Returns the learning rate of step `step` (from 0), with `epoch_steps` steps per epoch; with
// scale_learning_rate, one step counts for `ranks`.
double LearningRateAt(const MlpParameters& parameters, int64_t step, int64_t epoch_steps, int ranks);

}  // namespace winnow::mlp
