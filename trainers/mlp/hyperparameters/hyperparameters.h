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
// How ranks share the work (docs/mlp.md).
enum class Distribution { kAllReduce, kZero, kPipeline, kLocalSgd, kParameterServer };
enum class Compression { kNone, kBf16, kInt8 };
enum class BatchScaling { kNone, kLinear };

// Hyperparameters of winnow-mlp, under the names they are given by. docs/mlp.md says what each does.
struct MlpParameters {
  // The network: hidden layers, their widths first to last ("hidden_layers" = "256,128"); or num_layers of
  // layer_width each, which can be tuned.
  std::vector<int> hidden_layers = {256, 128};
  Activation activation = Activation::kRelu;
  double leaky_slope = 0.01;
  double dropout = 0;        // share of each hidden layer's units that a step leaves out, [0, 1)
  double input_dropout = 0;  // the same of the inputs
  BatchNorm batch_norm = BatchNorm::kNone;
  double batch_norm_momentum = 0.1;  // weight of the newest batch in the running statistics
  WeightInit weight_init = WeightInit::kHe;

  // The loss.
  LossKind loss = LossKind::kCrossEntropy;
  int num_class = 0;  // outputs; 0: as many as the training labels say
  double label_smoothing = 0;
  double huber_delta = 1;

  // Steps.
  int64_t epochs = 20;
  int64_t batch_size = 128;  // rows of one step, of all ranks together (but see batch_scaling)
  OptimizerKind optimizer = OptimizerKind::kSgd;
  double learning_rate = 0.1;
  double momentum = 0;  // of SGD
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // of Adam, AdamW and LAMB
  double weight_decay = 0;                            // of weights, not of biases and batch norm
  double clip_norm = 0;                               // gradients' largest global norm; 0: any
  ScheduleKind schedule = ScheduleKind::kConstant;
  int64_t step_epochs = 10;           // of kStep: every so many epochs...
  double step_factor = 0.1;           // ... the rate is multiplied by this
  double min_learning_rate = 0;       // where kCosine ends
  double warmup_epochs = 0;           // linear from 0 at the start
  int64_t early_stopping_epochs = 0;  // without a better last metric on the validation data; 0: never

  // Several ranks.
  Distribution distribution = Distribution::kAllReduce;
  int virtual_shards = 0;  // a batch's parts, of which a rank takes whole ones; 0: DefaultVirtualShards
  BatchScaling batch_scaling = BatchScaling::kNone;
  bool scale_learning_rate = false;  // with kLinear: times the ranks (Goyal et al. 2017)
  Compression compression = Compression::kNone;
  int64_t local_steps = 8;  // of kLocalSgd: steps between two averages
  int micro_batches = 0;    // of kPipeline; 0: as many as virtual shards
  int pipeline_stages = 0;  // of kPipeline: ranks that hold one copy; 0: all
  // Of kParameterServer.
  int64_t staleness_bound = -1;   // most steps that the fastest rank may be ahead; -1: any
  bool staleness_aware = false;   // divides a step by its gradient's staleness (Zhang et al. 2016)
  double delay_compensation = 0;  // lambda of DC-ASGD (Zheng et al. 2017)
  double implicit_momentum_correction =
      0;  // share of 1 - 1/ranks that is taken off the momentum (Mitliagkas et al. 2016)

  // Fewer samples.
  double sift_beta = 0;   // a sample trains with probability (percentile of its loss)^sift_beta; 0: always
  double sift_delay = 1;  // epochs before sifting begins
  int64_t loss_history_length = 1024;  // losses that the percentile is of
  int64_t sift_reuse_epochs =
      0;  // epochs for which a sample's loss counts before it is computed anew; 0: never reused

  // Distillation.
  std::string teacher;  // model file; "": none
  double teacher_temperature = 2;
  double teacher_weight = 0.5;  // of the teacher's loss; the labels' has 1 minus it

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

// Reads SM_HPS. InvalidArgument as "hyperparameter learning_rate = -1: expected ...". A name that is not
// known is refused; what is worth a warning (rank 0's standard error) is added to *warnings.
absl::StatusOr<MlpParameters> ParseMlpHyperparameters(const std::string& json,
                                                      std::vector<std::string>* warnings);

// Every hyperparameter as text that ParseMlpHyperparameters reads back, for model files and for ranks to
// compare. What changes neither the model nor its metrics (nthread, profile) is not in it, nor is `epochs`
// unless the schedule depends on it.
std::vector<std::pair<std::string, std::string>> ModelHyperparameters(const MlpParameters& parameters);

// Parts that a batch is cut into, so that ranks can take equal numbers of them: 12 where each has 8 rows or
// more, else 4, 2 or 1.
int DefaultVirtualShards(int64_t batch_size);

// The learning rate of step `step` (from 0) where an epoch has `epoch_steps`, and one step moves as `ranks`
// would together (scale_learning_rate).
double LearningRateAt(const MlpParameters& parameters, int64_t step, int64_t epoch_steps, int ranks);

}  // namespace winnow::mlp
