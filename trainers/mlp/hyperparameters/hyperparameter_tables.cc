#include "trainers/mlp/hyperparameters/hyperparameter_tables.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace winnow::mlp {
namespace {

using P = MlpParameters;

constexpr double kMostReal = 1e9;
constexpr int64_t kMostWhole = 1'000'000;
constexpr int64_t kMostParts = 1024;  // of a batch, of a network, of a machine's processors

constexpr MlpReal kReals[] = {
    {"leaky_slope", &P::leaky_slope, 0, 1},
    {"dropout", &P::dropout, 0, 1, false, true},
    {"input_dropout", &P::input_dropout, 0, 1, false, true},
    {"batch_norm_momentum", &P::batch_norm_momentum, 0, 1, true},
    {"label_smoothing", &P::label_smoothing, 0, 1, false, true},
    {"huber_delta", &P::huber_delta, 0, kMostReal, true},
    {"learning_rate", &P::learning_rate, 0, 1000, true},
    {"momentum", &P::momentum, 0, 1, false, true},
    {"beta1", &P::beta1, 0, 1, false, true},
    {"beta2", &P::beta2, 0, 1, false, true},
    {"epsilon", &P::epsilon, 0, 1, true},
    {"weight_decay", &P::weight_decay, 0, 1000},
    {"clip_norm", &P::clip_norm, 0, kMostReal},
    {"step_factor", &P::step_factor, 0, 1, true},
    {"min_learning_rate", &P::min_learning_rate, 0, 1000},
    {"warmup_epochs", &P::warmup_epochs, 0, kMostWhole},
    {"delay_compensation", &P::delay_compensation, 0, kMostReal},
    {"implicit_momentum_correction", &P::implicit_momentum_correction, 0, 1},
    {"sift_beta", &P::sift_beta, 0, 100},
    {"sift_delay", &P::sift_delay, 0, kMostWhole},
    {"teacher_temperature", &P::teacher_temperature, 0, 1000, true},
    {"teacher_weight", &P::teacher_weight, 0, 1},
};

template <auto Field>
int64_t Get(const P& p) {
  return static_cast<int64_t>(p.*Field);
}
template <auto Field>
void Set(P* p, int64_t value) {
  p->*Field = static_cast<std::remove_reference_t<decltype(p->*Field)>>(value);
}
template <auto Field>
constexpr MlpWhole Whole(const char* name, int64_t low, int64_t high) {
  return {name, &Get<Field>, &Set<Field>, low, high};
}
constexpr MlpWhole kWholes[] = {
    Whole<&P::num_class>("num_class", 0, 65'536),
    Whole<&P::epochs>("epochs", 1, kMostWhole),
    Whole<&P::batch_size>("batch_size", 1, kMostWhole),
    Whole<&P::step_epochs>("step_epochs", 1, kMostWhole),
    Whole<&P::early_stopping_epochs>("early_stopping_epochs", 0, kMostWhole),
    Whole<&P::virtual_shards>("virtual_shards", 0, kMostParts),
    Whole<&P::local_steps>("local_steps", 1, kMostWhole),
    Whole<&P::micro_batches>("micro_batches", 0, kMostParts),
    Whole<&P::pipeline_stages>("pipeline_stages", 0, kMostParts),
    Whole<&P::staleness_bound>("staleness_bound", -1, kMostWhole),
    Whole<&P::loss_history_length>("loss_history_length", 1, 10'000'000),
    Whole<&P::sift_reuse_epochs>("sift_reuse_epochs", 0, kMostWhole),
    Whole<&P::nthread>("nthread", 1, kMostParts),
    Whole<&P::seed>("seed", 0, std::numeric_limits<int64_t>::max()),
};

constexpr MlpTruth kTruths[] = {
    {"nesterov", &P::nesterov},
    {"scale_learning_rate", &P::scale_learning_rate},
    {"staleness_aware", &P::staleness_aware},
    {"profile", &P::profile},
    {"standardise", &P::standardise},
};

template <class Enum>
constexpr MlpWord Word(const char* word, Enum value) {
  return {word, static_cast<int>(value)};
}
constexpr MlpWord kActivations[] = {Word("relu", Activation::kRelu),
                                    Word("leaky_relu", Activation::kLeakyRelu),
                                    Word("leakyrelu", Activation::kLeakyRelu),
                                    Word("gelu", Activation::kGelu), Word("tanh", Activation::kTanh)};
constexpr MlpWord kBatchNorms[] = {
    Word("none", BatchNorm::kNone), Word("synchronised", BatchNorm::kSynchronised),
    Word("synchronized", BatchNorm::kSynchronised), Word("per_rank", BatchNorm::kPerRank)};
constexpr MlpWord kInits[] = {Word("he", WeightInit::kHe), Word("kaiming", WeightInit::kHe),
                              Word("glorot", WeightInit::kGlorot), Word("xavier", WeightInit::kGlorot)};
constexpr MlpWord kLosses[] = {Word("cross_entropy", LossKind::kCrossEntropy),
                               Word("softmax", LossKind::kCrossEntropy),
                               Word("logistic", LossKind::kLogistic),
                               Word("mse", LossKind::kSquared),
                               Word("squared", LossKind::kSquared),
                               Word("huber", LossKind::kHuber)};
constexpr MlpWord kOptimizers[] = {Word("sgd", OptimizerKind::kSgd), Word("adam", OptimizerKind::kAdam),
                                   Word("adamw", OptimizerKind::kAdamW), Word("lamb", OptimizerKind::kLamb)};
constexpr MlpWord kSchedules[] = {Word("constant", ScheduleKind::kConstant),
                                  Word("step", ScheduleKind::kStep), Word("cosine", ScheduleKind::kCosine)};
constexpr MlpWord kDistributions[] = {
    Word("ALL_REDUCE", Distribution::kAllReduce), Word("ZERO", Distribution::kZero),
    Word("PIPELINE", Distribution::kPipeline), Word("LOCAL_SGD", Distribution::kLocalSgd),
    Word("PARAMETER_SERVER", Distribution::kParameterServer)};
constexpr MlpWord kScalings[] = {Word("NONE", BatchScaling::kNone), Word("LINEAR", BatchScaling::kLinear)};
constexpr MlpWord kCompressions[] = {Word("none", Compression::kNone), Word("bf16", Compression::kBf16),
                                     Word("int8", Compression::kInt8)};
constexpr MlpWord kPrecisions[] = {Word("f32", Precision::kF32), Word("float32", Precision::kF32),
                                   Word("bf16", Precision::kBf16), Word("bfloat16", Precision::kBf16)};

template <auto Field>
int GetChoice(const P& p) {
  return static_cast<int>(p.*Field);
}
template <auto Field>
void SetChoice(P* p, int value) {
  p->*Field = static_cast<std::remove_reference_t<decltype(p->*Field)>>(value);
}
template <auto Field>
MlpChoice Choice(const char* name, std::span<const MlpWord> words) {
  return {name, words, &GetChoice<Field>, &SetChoice<Field>};
}

// Names that other trainers use.
constexpr std::pair<const char*, const char*> kAliases[] = {
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
    {"n_jobs", "nthread"},
};

}  // namespace

std::span<const MlpReal> MlpReals() { return kReals; }
std::span<const MlpWhole> MlpWholes() { return kWholes; }
std::span<const MlpTruth> MlpTruths() { return kTruths; }

std::span<const MlpChoice> MlpChoices() {
  static const MlpChoice choices[] = {
      Choice<&P::activation>("activation", kActivations),
      Choice<&P::batch_norm>("batch_norm", kBatchNorms),
      Choice<&P::weight_init>("weight_init", kInits),
      Choice<&P::loss>("loss", kLosses),
      Choice<&P::optimizer>("optimizer", kOptimizers),
      Choice<&P::schedule>("schedule", kSchedules),
      Choice<&P::distribution>("distribution", kDistributions),
      Choice<&P::batch_scaling>("batch_scaling", kScalings),
      Choice<&P::compression>("compression", kCompressions),
      Choice<&P::precision>("precision", kPrecisions),
  };
  return choices;
}

std::string FirstMlpName(std::string_view given) {
  std::string name(given);
  std::replace(name.begin(), name.end(), '-', '_');
  for (const auto& [alias, meant] : kAliases) {
    if (name == alias) return meant;
  }
  return name;
}

std::string Lowercase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string WordOf(const MlpChoice& choice, int value) {
  for (const MlpWord& word : choice.words) {
    if (word.value == value) return word.word;
  }
  std::abort();
}

std::string WordsOf(const MlpChoice& choice) {
  std::string words;
  for (const MlpWord& word : choice.words) {
    if (WordOf(choice, word.value) != word.word) continue;
    words += (words.empty() ? "" : ", ") + std::string(word.word);
  }
  return words;
}

}  // namespace winnow::mlp
