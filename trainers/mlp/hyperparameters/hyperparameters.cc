#include "trainers/mlp/hyperparameters/hyperparameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "trainers/hyperparameters/json_object.h"
#include "trainers/mlp/hyperparameters/metric.h"

namespace winnow::mlp {
namespace {

using P = MlpParameters;
using F = Fields<P>;
using ValueKind = Hyperparameter::Kind;

constexpr double kMostReal = 1e9, kMostWhole = 1e6;
constexpr double kMostParts = 1024;  // of a batch, of a network, of a machine's processors
constexpr double kMostLayerWidth = 65'536;

template <class Enum>
constexpr Word WordFor(std::string_view text, Enum value) {
  return {text, static_cast<int64_t>(value)};
}
constexpr Word kActivations[] = {WordFor("relu", Activation::kRelu),
                                 WordFor("leaky_relu", Activation::kLeakyRelu),
                                 WordFor("leakyrelu", Activation::kLeakyRelu),
                                 WordFor("gelu", Activation::kGelu), WordFor("tanh", Activation::kTanh)};
constexpr Word kBatchNorms[] = {
    WordFor("none", BatchNorm::kNone), WordFor("synchronised", BatchNorm::kSynchronised),
    WordFor("synchronized", BatchNorm::kSynchronised), WordFor("per_rank", BatchNorm::kPerRank)};
constexpr Word kInits[] = {
    WordFor("fan_in", WeightInit::kFanIn),

    WordFor("he", WeightInit::kHe),         WordFor("kaiming", WeightInit::kHe),
    WordFor("glorot", WeightInit::kGlorot), WordFor("xavier", WeightInit::kGlorot),
    WordFor("he_normal", WeightInit::kHe),  WordFor("glorot_uniform", WeightInit::kGlorot)};
constexpr Word kLosses[] = {WordFor("cross_entropy", LossKind::kCrossEntropy),
                            WordFor("softmax", LossKind::kCrossEntropy),
                            WordFor("logistic", LossKind::kLogistic),
                            WordFor("mse", LossKind::kSquared),
                            WordFor("squared", LossKind::kSquared),
                            WordFor("huber", LossKind::kHuber)};
constexpr Word kOptimizers[] = {WordFor("sgd", OptimizerKind::kSgd), WordFor("adam", OptimizerKind::kAdam),
                                WordFor("adamw", OptimizerKind::kAdamW),
                                WordFor("lamb", OptimizerKind::kLamb)};
constexpr Word kSchedules[] = {WordFor("constant", ScheduleKind::kConstant),
                               WordFor("step", ScheduleKind::kStep),
                               WordFor("cosine", ScheduleKind::kCosine)};
constexpr Word kDistributions[] = {
    WordFor("ALL_REDUCE", Distribution::kAllReduce), WordFor("ZERO", Distribution::kZero),
    WordFor("PIPELINE", Distribution::kPipeline), WordFor("LOCAL_SGD", Distribution::kLocalSgd),
    WordFor("PARAMETER_SERVER", Distribution::kParameterServer)};
constexpr Word kScalings[] = {WordFor("NONE", BatchScaling::kNone), WordFor("LINEAR", BatchScaling::kLinear)};
constexpr Word kCompressions[] = {WordFor("none", Compression::kNone), WordFor("bf16", Compression::kBf16),
                                  WordFor("int8", Compression::kInt8)};
constexpr Word kPrecisions[] = {WordFor("f32", Precision::kF32), WordFor("float32", Precision::kF32),
                                WordFor("bf16", Precision::kBf16), WordFor("bfloat16", Precision::kBf16)};
constexpr Word kTruths[] = {{"false", 0}, {"true", 1}, {"0", 0}, {"1", 1}};

constexpr Field<P> HiddenLayers() {
  Field<P> layers = F::Other({"hidden_layers",
                              ValueKind::kWidths,
                              {1, kMostLayerWidth},
                              {},
                              "widths of the hidden layers, first to last"});
  layers.widths = &P::hidden_layers;
  return layers;
}

// ModelHyperparameters writes the fields of each kind in this order.
constexpr Field<P> kFields[] = {
    HiddenLayers(),
    F::Other({"num_layers",
              ValueKind::kWhole,
              {1, kMostWidths},
              {},
              "number of hidden layers, each `layer_width` wide: a form of `hidden_layers` in two numbers "
              "that can "
              "be tuned; 2 if only `layer_width` is given"}),
    F::Other({"layer_width",
              ValueKind::kWhole,
              {1, kMostLayerWidth},
              {},
              "width of each of `num_layers` hidden layers; 128 if only `num_layers` is given"}),
    F::Choice<&P::activation>("activation", kActivations, "of the hidden layers"),
    F::Real("leaky_slope", &P::leaky_slope, {0, 1}, "slope of `leaky_relu` below 0"),
    F::Changing(F::Real("dropout", &P::dropout, LessThan(0, 1),
                        "fraction of each hidden layer's units that a step drops")),
    F::Changing(F::Real("input_dropout", &P::input_dropout, LessThan(0, 1),
                        "fraction of the inputs that a step drops")),
    F::Choice<&P::batch_norm>(
        "batch_norm", kBatchNorms,
        "normalises before the activation, by the statistics of the whole batch or of each "
        "rank's part; `per_rank` makes the result depend on the number of ranks"),
    F::Real("batch_norm_momentum", &P::batch_norm_momentum, MoreThan(0, 1),
            "weight of the newest batch in the running statistics"),
    F::Choice<&P::weight_init>(
        "weight_init", kInits,
        "`fan_in`: uniform within ±1 / sqrt(inputs), as PyTorch's; `he`: normal with variance 2 / inputs; "
        "`glorot`: uniform within ±sqrt(6 / (inputs + outputs)). Biases are 0"),
    F::Fixed(F::Choice<&P::loss>(
        "loss", kLosses,
        "softmax over classes with labels 0, 1, …; one output with labels 0 and 1; squared "
        "error; Huber's")),
    F::Fixed(F::Whole<&P::num_class>("num_class", 0, 65'536,
                                     "number of outputs of `cross_entropy`; 0: from the training labels")),
    F::Changing(F::Real("label_smoothing", &P::label_smoothing, LessThan(0, 1), "for `cross_entropy`")),
    F::Real("huber_delta", &P::huber_delta, MoreThan(0, kMostReal), "where `huber` becomes linear"),
    F::Whole<&P::epochs>("epochs", 1, kMostWhole, "passes over the training data"),
    F::Whole<&P::batch_size>("batch_size", 1, kMostWhole,
                             "rows per step, over all ranks together (but see `batch_scaling`)"),
    F::Choice<&P::optimizer>("optimizer", kOptimizers, ""),
    F::Changing(F::Real("learning_rate", &P::learning_rate, MoreThan(0, 1000),
                        "with `adam`, `adamw` and `lamb` 0.001 unless given")),
    F::Changing(F::Real("momentum", &P::momentum, LessThan(0, 1), "for `sgd`; as in PyTorch")),
    F::Truth<&P::nesterov>("nesterov", kTruths, "for `sgd`; as in PyTorch"),
    F::Changing(F::Real("beta1", &P::beta1, LessThan(0, 1), "for `adam`, `adamw`, `lamb`")),
    F::Changing(F::Real("beta2", &P::beta2, LessThan(0, 1), "for `adam`, `adamw`, `lamb`")),
    F::Changing(F::Real("epsilon", &P::epsilon, MoreThan(0, 1), "for `adam`, `adamw`, `lamb`")),
    F::Changing(
        F::Real("weight_decay", &P::weight_decay, {0, 1000},
                "for weights, not for biases and batch norm; decoupled from the gradient with `adamw`")),
    F::Changing(
        F::Real("clip_norm", &P::clip_norm, {0, kMostReal}, "maximum norm of the gradients; 0: no limit")),
    F::Choice<&P::schedule>("schedule", kSchedules,
                            "schedule of the learning rate; `cosine` falls over `epochs`"),
    F::Whole<&P::step_epochs>("step_epochs", 1, kMostWhole,
                              "for `step`: the rate is multiplied by `step_factor` every `step_epochs`"),
    F::Real("step_factor", &P::step_factor, MoreThan(0, 1), "for `step`: the factor of the rate"),
    F::Changing(F::Real("min_learning_rate", &P::min_learning_rate, {0, 1000}, "final rate of `cosine`")),
    F::Real("warmup_epochs", &P::warmup_epochs, {0, kMostWhole},
            "epochs over which the rate rises linearly from near 0"),
    F::Whole<&P::early_stopping_epochs>("early_stopping_epochs", 0, kMostWhole,
                                        "ends after this many epochs without improvement of the last metric "
                                        "on the validation data; 0: never"),
    F::Choice<&P::distribution>("distribution", kDistributions, "how ranks share the work"),
    F::Whole<&P::virtual_shards>(
        "virtual_shards", 0, kMostParts,
        "parts that a batch is divided into; a rank takes whole parts. 0: 12 if each has 8 rows or more, "
        "else 4, 2 or 1. There may not be more ranks than parts"),
    F::Choice<&P::batch_scaling>("batch_scaling", kScalings, "`LINEAR`: the batch is `batch_size` × ranks"),
    F::Truth<&P::scale_learning_rate>("scale_learning_rate", kTruths,
                                      "with `LINEAR`: the rate times the ranks (Goyal et al. 2017)"),
    F::Choice<&P::compression>(
        "compression", kCompressions,
        "compression of gradients, with error feedback; `ALL_REDUCE` only. Changes results"),
    F::Whole<&P::local_steps>("local_steps", 1, kMostWhole, "`LOCAL_SGD`: steps between two averages"),
    F::Whole<&P::micro_batches>(
        "micro_batches", 0, kMostParts,
        "`PIPELINE`: parts of a batch that pass through the ranks one after the other, of whole virtual "
        "shards; "
        "0: one per shard. With more, ranks wait less; with fewer, they compute faster"),
    F::Whole<&P::pipeline_stages>(
        "pipeline_stages", 0, kMostParts,
        "`PIPELINE`: ranks that hold one copy of the model, a divisor of the "
        "nodes, at most the number of layers; 0: as many as possible. The copies share "
        "each batch"),
    F::Whole<&P::staleness_bound>(
        "staleness_bound", -1, kMostWhole,
        "`PARAMETER_SERVER`: most steps that a rank may be ahead of the slowest (Ho et al. 2013); -1: any"),
    F::Truth<&P::staleness_aware>(
        "staleness_aware", kTruths,
        "`PARAMETER_SERVER`: a step is divided by its gradient's staleness (Zhang et al. 2016)"),
    F::Real("delay_compensation", &P::delay_compensation, {0, kMostReal},
            "`PARAMETER_SERVER`: lambda of DC-ASGD (Zheng et al. 2017)"),
    F::Real("implicit_momentum_correction", &P::implicit_momentum_correction, {0, 1},
            "`PARAMETER_SERVER`: the fraction of 1 - 1/ranks that is subtracted from the momentum "
            "(Mitliagkas et al. 2016)"),
    F::Real("sift_beta", &P::sift_beta, {0, 100},
            "a row is trained with probability (percentile of its loss)^`sift_beta`, so 1 / (1 + "
            "`sift_beta`) of the rows are; 0: all"),
    F::Real("sift_delay", &P::sift_delay, {0, kMostWhole}, "epochs before sifting begins"),
    F::Whole<&P::loss_history_length>("loss_history_length", 1, 1e7,
                                      "number of recent losses from which the percentile is computed"),
    F::Whole<&P::sift_reuse_epochs>(
        "sift_reuse_epochs", 0, kMostWhole,
        "epochs for which a row's loss is reused before it is computed again; 0: never reused"),
    F::Fixed(F::Other({"teacher",
                       ValueKind::kText,
                       {},
                       {},
                       "path of a `model.safetensors`: the model for distillation (Hinton et al. 2015)"})),
    F::Real("teacher_temperature", &P::teacher_temperature, MoreThan(0, 1000),
            "softens the teacher's probabilities"),
    F::Real("teacher_weight", &P::teacher_weight, {0, 1},
            "weight of the teacher's loss; the labels' has the rest"),
    F::Choice<&P::precision>("precision", kPrecisions,
                             "precision of the matrix products; weights and sums stay f32"),
    F::Fixed(F::Whole<&P::nthread>("nthread", 1, kMostParts, "threads of a rank; does not change results")),
    F::Whole<&P::seed>("seed", 0, std::numeric_limits<double>::infinity(),
                       "in a job the trial's own unless given"),
    F::Fixed(F::Truth<&P::profile>("profile", kTruths, "where the time of each rank went")),
    F::Fixed(F::Other(
        {"eval_metric",
         ValueKind::kText,
         {},
         {},
         "`loss`, `logloss`, `accuracy`, `error`, `top5` (any K), `auc`, `rmse`, `mae`, or a list of "
         "them; by default the metrics of the loss"})),
    F::Truth<&P::standardise>("standardise", kTruths,
                              "scale features to mean 0 and standard deviation 1 over the training data: "
                              "over all pixels for images, "
                              "per column for tables"),
    F::Truth<&P::standardise_label>(
        "standardise_label", kTruths,
        "for `mse` and `huber`: the network learns the label scaled to mean 0 and standard deviation 1. "
        "Metrics "
        "and predictions are in the label's own unit all the same; `huber_delta` counts deviations"),
};
constexpr double kAdaptiveRate = 0.001;                 // the default with another optimizer than sgd
constexpr int kDefaultLayers = 2, kDefaultWidth = 128;  // where only the other of the two is given

// Names that other trainers use: PyTorch, Keras, scikit-learn, XGBoost's wrappers.
constexpr Declaration::SecondName kSecondNames[] = {
    {"lr", "learning_rate"},
    {"eta", "learning_rate"},
    {"learning_rate_init", "learning_rate"},
    {"mini_batch_size", "batch_size"},
    {"num_epochs", "epochs"},
    {"n_epochs", "epochs"},
    {"max_epochs", "epochs"},
    {"max_iter", "epochs"},
    {"n_estimators", "epochs"},
    {"num_round", "epochs"},
    {"num_boost_round", "epochs"},
    {"l2", "weight_decay"},
    {"wd", "weight_decay"},
    {"dropout_rate", "dropout"},
    {"hidden_units", "hidden_layers"},
    {"hidden_layer_sizes", "hidden_layers"},
    {"units", "layer_width"},
    {"n_layers", "num_layers"},
    {"solver", "optimizer"},
    {"nesterovs_momentum", "nesterov"},
    {"beta_1", "beta1"},
    {"beta_2", "beta2"},
    {"eps", "epsilon"},
    {"kernel_initializer", "weight_init"},
    {"clip_gradient", "clip_norm"},
    {"max_grad_norm", "clip_norm"},
    {"global_clipnorm", "clip_norm"},
    {"num_classes", "num_class"},
    {"early_stopping_patience", "early_stopping_epochs"},
    {"early_stopping_rounds", "early_stopping_epochs"},
    {"patience", "early_stopping_epochs"},
    {"n_iter_no_change", "early_stopping_epochs"},
    {"random_state", "seed"},
    {"n_jobs", "nthread"},
};

bool Asynchronous(const P& p) { return p.distribution == Distribution::kParameterServer; }
bool Averages(const P& p) { return p.distribution == Distribution::kLocalSgd; }
bool Pipelined(const P& p) { return p.distribution == Distribution::kPipeline; }
bool Adaptive(const P& p) { return p.optimizer != OptimizerKind::kSgd; }
bool Sgd(const P& p) { return p.optimizer == OptimizerKind::kSgd; }
bool Regresses(const P& p) { return p.loss == LossKind::kSquared || p.loss == LossKind::kHuber; }
bool Taught(const P& p) { return !p.teacher.empty(); }

// Hyperparameters that have an effect only where something else is chosen.
struct SpecialCase {
  const char* name;
  bool (*matters)(const P&);
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
    {"standardise_label", Regresses, "loss mse or huber"},
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

std::string WordIn(const char* name, const P& p) { return ValueText(*FindField<P>(kFields, name), p); }

std::vector<std::string> EvaluatedMetrics(const Given& given) {
  if (const auto names = given.values.find("eval_metric"); names != given.values.end())
    return ReadNames(names->second);
  std::vector<std::string> names;
  const auto metrics = MlpMetrics(KnownMlpParameters(given));
  for (const MlpMetric& metric : *metrics) names.push_back(MlpMetricName(metric));
  return names;
}

void CheckLayers(const Given& given, CrossChecks* checks) {
  for (const char* name : {"num_layers", "layer_width"}) {
    if (given.Has(name) && given.Has("hidden_layers"))
      checks->Refuse(name, "either hidden_layers, or num_layers and layer_width");
  }
}

void CheckLoss(const P& p, const Given& given, CrossChecks* checks) {
  const std::string loss = LossName(p.loss);
  const bool classes = p.loss == LossKind::kCrossEntropy;
  checks->Expect(!classes || p.num_class != 1, {"num_class", "loss"}, "0 or at least 2 with loss " + loss);
  checks->Expect(classes || p.num_class <= 1, {"num_class", "loss"}, "none with loss " + loss);
  if (given.open.count("loss") > 0) return;
  const std::vector<std::string> names = EvaluatedMetrics(given);
  if (names.empty())
    checks->Refuse("eval_metric", "[]", "names with commas between, or a JSON list of names");
  for (const std::string& name : names) {
    if (const auto metric = ParseMlpMetric(name, p.loss); !metric.ok())
      checks->Refuse("eval_metric", name, std::string(metric.status().message()));
  }
}

void CheckSteps(const P& p, CrossChecks* checks) {
  checks->Expect(!p.nesterov || !Sgd(p) || p.momentum > 0, {"nesterov", "optimizer", "momentum"},
                 "momentum above 0");
  checks->Expect(p.schedule != ScheduleKind::kCosine || p.min_learning_rate <= p.learning_rate,
                 {"min_learning_rate", "schedule", "learning_rate"},
                 fmt::format("at most learning_rate = {}", p.learning_rate));
  const std::string most_batch = fmt::format("at most batch_size = {}", p.batch_size);
  checks->Expect(p.batch_norm == BatchNorm::kNone || p.batch_size >= 2, {"batch_size", "batch_norm"},
                 "at least 2 with batch_norm");
  checks->Expect(p.virtual_shards <= p.batch_size, {"virtual_shards", "batch_size"}, most_batch);
  checks->Expect(!Pipelined(p) || p.micro_batches <= p.batch_size,
                 {"micro_batches", "distribution", "batch_size"}, most_batch);
}

void CheckRanks(const P& p, const Given& given, CrossChecks* checks) {
  const std::string distribution = "distribution " + WordIn("distribution", p);
  checks->Expect(!p.scale_learning_rate || p.batch_scaling == BatchScaling::kLinear,
                 {"scale_learning_rate", "batch_scaling"}, "batch_scaling LINEAR");
  checks->Expect(p.compression == Compression::kNone || p.distribution == Distribution::kAllReduce,
                 {"compression", "distribution"},
                 "none with " + distribution + ", or distribution ALL_REDUCE");
  checks->Expect(p.batch_norm == BatchNorm::kNone || !Pipelined(p), {"batch_norm", "distribution"},
                 "none with " + distribution);
  checks->Expect(p.optimizer != OptimizerKind::kLamb || !Asynchronous(p), {"optimizer", "distribution"},
                 "sgd, adam or adamw with " + distribution);
  const bool sifts = p.sift_beta > 0 || given.open.count("sift_beta") > 0;
  checks->Expect(!sifts || !(Asynchronous(p) || Averages(p)), {"distribution"},
                 "ALL_REDUCE, ZERO or PIPELINE with sift_beta");
}

void CheckSifting(const Given& given, CrossChecks* checks) {
  for (const char* name : {"sift_delay", "loss_history_length", "sift_reuse_epochs"}) {
    if (given.Has(name) && !given.Has("sift_beta")) checks->Refuse(name, "sift_beta to be given too");
  }
}

std::vector<Contradiction> Contradictions(const Given& given) {
  const P p = KnownMlpParameters(given);
  CrossChecks checks(given);
  CheckLayers(given, &checks);
  CheckLoss(p, given, &checks);
  CheckSteps(p, &checks);
  CheckRanks(p, given, &checks);
  CheckSifting(given, &checks);
  return checks.Take();
}

void AddWarnings(const P& p, const GivenValues& values, std::vector<std::string>* warnings) {
  for (const SpecialCase& special : kSpecial) {
    if (const auto given = values.find(special.name); given != values.end() && !special.matters(p))
      warnings->push_back(
          fmt::format("hyperparameter {} has no effect but with {}", given->second.name, special.where));
  }
  if (p.warmup_epochs > static_cast<double>(p.epochs))
    warnings->push_back(fmt::format(
        "warmup_epochs = {} is more than epochs = {}: the learning rate never reaches what is asked for",
        p.warmup_epochs, p.epochs));
  if (Asynchronous(p))
    warnings->push_back(
        "distribution PARAMETER_SERVER on several ranks depends on who is faster: results cannot be "
        "repeated, and change with the number of ranks");
  if (Averages(p))
    warnings->push_back("distribution LOCAL_SGD gives other results on another number of ranks");
  if (p.compression != Compression::kNone)
    warnings->push_back("compression " + WordIn("compression", p) +
                        " changes results, and gives others on another number of ranks");
  if (p.batch_norm == BatchNorm::kPerRank)
    warnings->push_back("batch_norm per_rank gives other results on another number of ranks");
  if (p.batch_scaling == BatchScaling::kLinear)
    warnings->push_back("batch_scaling LINEAR gives other results on another number of ranks");
}

constexpr double kPi = 3.14159265358979323846;

// sin x in plain arithmetic, the same bits on every machine: the Taylor series, truncated below 1e-16 for |x|
// <= pi / 2.
double PortableSin(double x) {
  constexpr int kTerms = 10;
  const double z = x * x;
  double sum = 1;
  for (int k = kTerms; k >= 1; --k) sum = 1 - z / (2.0 * k * (2.0 * k + 1)) * sum;
  return x * sum;
}

// (1 + cos(pi t)) / 2 for t in [0, 1].
double CosineShare(double t) { return 0.5 * (1 + PortableSin(kPi * (0.5 - t))); }

// base^exponent by squaring.
double PowerOf(double base, int64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) power *= base;
  }
  return power;
}

}  // namespace

const Declaration& MlpDeclaration() {
  static const Declaration declaration = [] {
    Declaration mlp = Declare<P>("winnow-mlp", kFields);
    mlp.second_names = kSecondNames;
    mlp.metrics = EvaluatedMetrics;
    mlp.contradictions = Contradictions;
    return mlp;
  }();
  return declaration;
}

MlpParameters KnownMlpParameters(const Given& given) {
  MlpParameters p = KnownParameters<P>(kFields, given);
  const auto whole = [&given](const char* name, int otherwise) {
    const auto text = given.values.find(name);
    const auto read = text == given.values.end() ? std::nullopt : ReadWhole(text->second);
    return static_cast<int>(read.value_or(otherwise));
  };
  if (given.Has("num_layers") || given.Has("layer_width"))
    p.hidden_layers.assign(static_cast<std::size_t>(whole("num_layers", kDefaultLayers)),
                           whole("layer_width", kDefaultWidth));
  if (const auto teacher = given.values.find("teacher"); teacher != given.values.end())
    p.teacher = teacher->second;
  if (const auto names = given.values.find("eval_metric"); names != given.values.end())
    p.metrics = ReadNames(names->second);
  p.seed_given = given.Has("seed");
  p.weight_init_given = given.Has("weight_init");
  if (Adaptive(p) && !given.Has("learning_rate")) p.learning_rate = kAdaptiveRate;
  return p;
}

const char* LossName(LossKind loss) {
  return WordOf(*FindField<P>(kFields, "loss"), static_cast<int64_t>(loss)).data();
}

absl::StatusOr<MlpParameters> ParseMlpHyperparameters(const std::string& json,
                                                      std::vector<std::string>* warnings) {
  const auto values = ReadHyperparameters(MlpDeclaration(), json);
  if (!values.ok()) return values.status();
  for (const auto& [name, given] : *values) {
    const Field<P>& field = *FindField<P>(kFields, name);
    const std::string text = Shown(given.value);
    if (!Read(field, text)) return BadValue(given, Expected(field, text));
    if (name == "teacher" && !given.value.is_string()) return BadValue(given, "the path of a model file");
  }
  if (absl::Status status = CheckTogether(MlpDeclaration(), *values); !status.ok()) return status;
  MlpParameters parameters = KnownMlpParameters(TextsOf(*values));
  AddWarnings(parameters, *values, warnings);
  return parameters;
}

std::vector<std::pair<std::string, std::string>> ModelHyperparameters(const MlpParameters& parameters) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const ValueKind kind :
       {ValueKind::kWidths, ValueKind::kWord, ValueKind::kReal, ValueKind::kWhole, ValueKind::kTruth}) {
    for (const Field<P>& field : kFields) {
      if (field.kind == kind && field.has_member())
        values.emplace_back(field.name, ValueText(field, parameters));
    }
  }
  values.emplace_back("teacher", parameters.teacher);
  if (!parameters.metrics.empty())
    values.emplace_back("eval_metric", fmt::format("{}", fmt::join(parameters.metrics, ",")));
  const bool ends = parameters.schedule == ScheduleKind::kCosine, regresses = Regresses(parameters);
  std::erase_if(values, [ends, regresses](const auto& entry) {
    return entry.first == "nthread" || entry.first == "profile" || (entry.first == "epochs" && !ends) ||
           (entry.first == "standardise_label" && !regresses);
  });
  return values;
}

int DefaultVirtualShards(int64_t batch_size) {
  constexpr int64_t kLeastRows = 8;
  for (int shards : {12, 4, 2}) {
    if (batch_size >= shards * kLeastRows) return shards;
  }
  return 1;
}

double LearningRateAt(const MlpParameters& parameters, int64_t step, int64_t epoch_steps, int ranks) {
  const double full = parameters.learning_rate * (parameters.scale_learning_rate ? ranks : 1);
  const double warmup_steps = parameters.warmup_epochs * static_cast<double>(epoch_steps);
  const double done = static_cast<double>(step);
  double rate = full;
  if (parameters.schedule == ScheduleKind::kStep) {
    rate = full * PowerOf(parameters.step_factor, step / epoch_steps / parameters.step_epochs);
  } else if (parameters.schedule == ScheduleKind::kCosine) {
    const double all = static_cast<double>(parameters.epochs) * static_cast<double>(epoch_steps);
    const double share = all > warmup_steps ? (done - warmup_steps) / (all - warmup_steps) : 0;
    const double t = std::clamp(share, 0.0, 1.0);
    rate = parameters.min_learning_rate + (full - parameters.min_learning_rate) * CosineShare(t);
  }
  return done + 1 < warmup_steps ? rate * ((done + 1) / warmup_steps) : rate;
}

}  // namespace winnow::mlp
