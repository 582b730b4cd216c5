#include "trainers/mlp/trainer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "trainers/common/training_run.h"
#include "trainers/mlp/data/training_input.h"
#include "trainers/mlp/epoch_metrics.h"
#include "trainers/mlp/model/checkpoint.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/model/teacher.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/kernels.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/network/optimizer.h"
#include "trainers/mlp/parallel/epoch_trainer.h"
#include "trainers/mlp/parallel/training_step.h"
#include "trainers/mlp/profile/findings.h"
#include "trainers/mlp/profile/profile.h"

namespace winnow::mlp {
namespace {

constexpr std::string_view kStandardiseLabel = "standardise_label", kWeightInit = "weight_init";

// Sum over all threads of the process.
double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Counts parameters and the optimizer's state twice: as trained, and as of the last complete epoch.
absl::Status CheckMemory(const Network& network, const MlpParameters& parameters) {
  const double needed =
      static_cast<double>(network.parameters) * sizeof(float) * 2 * (1 + SlotCount(parameters.optimizer));
  const double there =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed <= there) return absl::OkStatus();
  constexpr double kGigabyte = 1e9;
  return absl::InvalidArgumentError(fmt::format(
      "a network of {} parameters needs {:.0f} GB and more: expected less than the {:.0f} GB of this "
      "machine (hyperparameters hidden_layers, num_layers, layer_width)",
      network.parameters, needed / kGigabyte, there / kGigabyte));
}

// Levels are epochs.
class NetworkRun : public TrainingRun {
 public:
  NetworkRun(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop, std::FILE* out,
             std::FILE* err)
      : TrainingRun("winnow-mlp", "epoch", request, ranks, stop, out, err),
        request_(request),
        parameters_(request.parameters),
        trained_(request.parameters),
        stop_(stop),
        crew_(static_cast<int>(request.parameters.nthread)) {
    if (parameters_.profile) profile_.emplace();
  }

 private:
  ToldThings Told() const override;
  int64_t done() const override { return state_.epochs; }
  int64_t target() const override { return UpToResource(parameters_.epochs); }
  bool stopped_early() const override { return state_.stopped_early; }
  const std::vector<std::string>& metric_names() const override { return state_.metric_names; }
  std::vector<float> ValuesAt(int64_t epoch) const override {
    return {state_.history[epoch].begin(), state_.history[epoch].end()};
  }
  bool MayWait() const override { return !profile_; }  // the profile is reported at the end of the process
  void StopEarlyIfDue() override;
  absl::Status WriteCheckpoint(const std::set<std::string>& begun_with) override {
    return mlp::WriteCheckpoint(request_.checkpoint_folder, state_, begun_with);
  }
  absl::Status WriteModel() override;
  absl::Status LoadAndTrain() override;

  bool Regresses() const {
    return parameters_.loss == LossKind::kSquared || parameters_.loss == LossKind::kHuber;
  }
  absl::Status LoadCheckpoint();
  void FitCheckpoint(const std::vector<std::string>& metric_names, uint64_t fingerprint);
  absl::Status FitBatch();
  absl::Status FitPrecision(const Network& network);
  void ScaleLabels();
  absl::Status Train(const EpochMetrics& metrics, const TrainingContext& context);
  absl::Status TrainEpoch(EpochTrainer* trainer, const EpochMetrics& metrics);
  void Record(std::vector<double> values, const EpochResult& result);
  absl::Status KeepTiming(const EpochTrainer& trainer);

  const TrainRequest& request_;
  const MlpParameters& parameters_;  // as asked for
  MlpParameters trained_;            // as the data allow
  const std::atomic<bool>& stop_;
  Crew crew_;
  std::optional<Profile> profile_;
  TrainingData data_;
  std::optional<DenseData> targets_;  // the training data with scaled labels; nullopt: they are not scaled
  Network network_;
  Checkpoint state_;  // state after the last complete epoch; rank 0's is complete
  std::optional<EpochMetrics::Deciding> deciding_;  // the metric that stops the training early
  std::vector<double> losses_;
  std::vector<double> epochs_cpu_;  // seconds of all threads
};

ToldThings NetworkRun::Told() const {
  ToldThings told = ModelHyperparameters(parameters_);
  told.emplace_back("epochs", fmt::format("{}", parameters_.epochs));
  told.emplace_back("profile", fmt::format("{}", parameters_.profile));
  told.emplace_back("WINNOW_RESOURCE_TO", fmt::format("{}", request_.resource_to));
  return told;
}

void EraseStandardiseLabel(ToldThings* told) {
  std::erase_if(*told, [](const auto& entry) { return entry.first == kStandardiseLabel; });
}

// Whether it was written before there was standardise_label: its network learned labels as they are.
bool IsOfPlainLabels(const Checkpoint& checkpoint) {
  return std::none_of(checkpoint.hyperparameters.begin(), checkpoint.hyperparameters.end(),
                      [](const auto& entry) { return entry.first == kStandardiseLabel; });
}

absl::Status NetworkRun::LoadCheckpoint() {
  const auto ours_for = [this](const Checkpoint& checkpoint) {
    ToldThings ours = ModelHyperparameters(parameters_);
    // The weights are drawn already, perhaps by an earlier default.
    for (auto& [name, value] : ours) {
      if (name != kWeightInit || parameters_.weight_init_given) continue;
      for (const auto& [their_name, their_value] : checkpoint.hyperparameters)
        value = their_name == kWeightInit ? their_value : value;
    }
    if (IsOfPlainLabels(checkpoint)) EraseStandardiseLabel(&ours);
    return ours;
  };
  const auto misfit = [&](const Checkpoint& checkpoint) {
    // An epoch's training cannot be undone.
    const ToldThings ours = ours_for(checkpoint);
    const std::string problem = request_.has_origin
                                    ? OriginMisfit(MlpDeclaration(), checkpoint.hyperparameters, ours)
                                    : HyperparameterMisfit(checkpoint.hyperparameters, ours);
    if (!problem.empty() || checkpoint.epochs <= target()) return problem;
    return fmt::format("has {} epochs, more than {}", checkpoint.epochs, target());
  };
  absl::StatusOr<std::optional<Checkpoint>> found =
      FindCheckpoint<Checkpoint>(ReadNewestCheckpoint, CheckpointText, ParseCheckpoint, misfit);
  if (found.ok() && *found) {
    state_ = **std::move(found);
    state_.hyperparameters = ours_for(state_);
    if (Regresses() && IsOfPlainLabels(state_)) trained_.standardise_label = false;
  }
  return found.status();
}

// Leaves state_ at an epoch from which training can continue, possibly the first.
void NetworkRun::FitCheckpoint(const std::vector<std::string>& metric_names, uint64_t fingerprint) {
  std::string misfit;
  if (state_.data_fingerprint != fingerprint)
    misfit = parameters_.teacher.empty() ? "other data" : "other data or another teacher";
  else if (state_.state.parameters.size() != network_.parameters ||
           state_.state.statistics.size() != network_.statistics)
    misfit = "another network";
  else if (state_.metric_names.size() < metric_names.size() ||
           !std::equal(metric_names.begin(), metric_names.end(), state_.metric_names.begin()))
    misfit = "other metrics";
  if (state_.epochs > 0 && misfit.empty()) return;
  if (state_.epochs > 0) WarnOfMisfit("was made with " + misfit);
  state_ = {};
  state_.hyperparameters = ModelHyperparameters(parameters_);
  if (trained_.standardise_label != parameters_.standardise_label)
    EraseStandardiseLabel(&state_.hyperparameters);
  state_.state = InitialState(network_, parameters_);
  state_.data_fingerprint = fingerprint;
  state_.schema = data_.schema;
  state_.outputs = data_.outputs;
  state_.metric_names = metric_names;
}

// Takes as many rows as there are for a batch that is larger.
absl::Status NetworkRun::FitBatch() {
  const int64_t rows = data_.batch_size;
  if (rows == parameters_.batch_size) return absl::OkStatus();
  for (const auto& [name, parts] : {std::pair("virtual_shards", parameters_.virtual_shards),
                                    {"micro_batches", parameters_.micro_batches}}) {
    if (parts > rows)
      return absl::InvalidArgumentError(fmt::format(
          "hyperparameter {} = {}: expected at most {}, the rows of a batch of this training data", name,
          parts, rows));
  }
  Warn(fmt::format("batch_size = {} is more than the training data have: batches have {} rows",
                   parameters_.batch_size, rows));
  trained_.batch_size = rows;
  return absl::OkStatus();
}

// Takes f32 where bf16 is slower.
absl::Status NetworkRun::FitPrecision(const Network& network) {
  if (parameters_.precision != Precision::kBf16) return absl::OkStatus();
  const absl::StatusOr<std::string> why = WhyNotBf16(network, IsBf16Fast(), &ranks_);
  if (!why.ok()) return why.status();
  if (why->empty()) return absl::OkStatus();
  trained_.precision = Precision::kF32;
  Warn(fmt::format("precision bf16 is slower than f32 {}: f32 is taken", *why));
  return absl::OkStatus();
}

// Sets targets_ where the network learns scaled labels, and data_.schema's scaling of them.
void NetworkRun::ScaleLabels() {
  if (!Regresses() || !trained_.standardise_label) return;
  data_.schema.label_scaling = LabelScalingOf(data_.train);
  targets_ = WithTargets(data_.train, data_.schema.label_scaling);
}

absl::Status NetworkRun::WriteModel() {
  const Network network = MakeNetwork(parameters_, state_.schema.features, state_.outputs);
  const NetworkState& learned = state_.best ? *state_.best : state_.state;
  MlpParameters computed = parameters_;
  computed.precision = trained_.precision;
  Model model{computed,
              request_.train_reading,
              state_.schema,
              network,
              {.parameters = learned.parameters, .slots = {}, .statistics = learned.statistics, .step = 0}};
  const LabelScaling labels = std::exchange(model.schema.label_scaling, {});
  if (labels.scales()) ScaleOutputs(network, labels.deviation, labels.mean, &model.state);
  const std::filesystem::path folder(request_.model_folder);
  if (absl::Status status = mlp::WriteModel((folder / "model.safetensors").string(), model); !status.ok())
    return status;
  return WriteOnnx((folder / "model.onnx").string(), model);
}

// Metrics of some ways of training (EpochResult::more) are identified by name only, and may come and go with
// the number of ranks.
void NetworkRun::Record(std::vector<double> values, const EpochResult& result) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string>& names = state_.metric_names;
  values.resize(names.size(), kUnknown);
  for (const auto& [name, value] : result.more) {
    const std::size_t at = std::find(names.begin(), names.end(), name) - names.begin();
    if (at == names.size()) {
      names.push_back(name);
      values.push_back(kUnknown);
      for (std::vector<double>& row : state_.history) row.push_back(kUnknown);
    }
    values[at] = value;
  }
  state_.history.push_back(std::move(values));
}

// The state after the best epoch becomes the model.
void NetworkRun::StopEarlyIfDue() {
  if (parameters_.early_stopping_epochs == 0 || !deciding_) return;
  const int64_t epoch = state_.epochs - 1;
  const auto value_at = [&](int64_t at) { return state_.history[at][deciding_->position]; };
  const bool is_better = state_.best_epoch < 0 || std::isnan(value_at(state_.best_epoch)) ||
                         (deciding_->higher_is_better ? value_at(epoch) > value_at(state_.best_epoch)
                                                      : value_at(epoch) < value_at(state_.best_epoch));
  if (is_better) {
    state_.best_epoch = epoch;
    state_.best = NetworkState{
        .parameters = state_.state.parameters, .slots = {}, .statistics = state_.state.statistics, .step = 0};
  }
  if (epoch - state_.best_epoch < parameters_.early_stopping_epochs) return;
  state_.stopped_early = true;
  Warn(fmt::format("stopped early: {} has not improved since epoch {}",
                   state_.metric_names[deciding_->position], state_.best_epoch));
}

absl::Status NetworkRun::TrainEpoch(EpochTrainer* trainer, const EpochMetrics& metrics) {
  const Clock::time_point begun = Clock::now();
  const double cpu_begun = ProcessorSeconds();
  const absl::StatusOr<EpochResult> result = trainer->Train(state_.epochs);
  if (!result.ok()) return result.status();
  epochs_cpu_.push_back(ProcessorSeconds() - cpu_begun);
  const Clock::time_point trained = Clock::now();
  const double seconds = std::chrono::duration<double>(trained - begun).count();
  absl::StatusOr<std::vector<double>> values = [&] {
    const ProfileScope scope(profile_ ? &*profile_ : nullptr, Phase::kEvaluate, trainer->state().step);
    return metrics.Measure(state_.epochs, trainer->state(), *result, seconds);
  }();
  if (!values.ok()) return values.status();
  timing_.levels.push_back(seconds);
  timing_.evaluations.push_back(SecondsSince(trained));
  timing_.bytes_sent += result->bytes_sent;
  losses_.push_back(result->loss);
  if (absl::Status status = trainer->Collect(&state_.state, &state_.extra); !status.ok()) return status;
  Record(*std::move(values), *result);
  ++state_.epochs;
  return absl::OkStatus();
}

absl::Status NetworkRun::KeepTiming(const EpochTrainer& trainer) {
  const auto states = ranks_.AllGather(fmt::format("{}", trainer.state_bytes()));
  if (!states.ok()) return states.status();
  if (!is_first()) return absl::OkStatus();
  nlohmann::json state_bytes = nlohmann::json::array();
  for (const std::string& bytes : *states) state_bytes.push_back(std::stoull(bytes));
  return WriteTiming({{"epoch_cpu_seconds", epochs_cpu_}, {"state_bytes", state_bytes}});
}

absl::Status NetworkRun::Train(const EpochMetrics& metrics, const TrainingContext& context) {
  absl::StatusOr<std::unique_ptr<EpochTrainer>> trainer =
      MakeEpochTrainer(context, state_.state, state_.extra);
  if (!trainer.ok()) return trainer.status();
  timing_.setup = SecondsSince(started_);
  deciding_ = metrics.deciding();
  const absl::Status status = TrainLevels([&] { return TrainEpoch(trainer->get(), metrics); });
  if (!status.ok() && !absl::IsFailedPrecondition(status)) (*trainer)->Fail(status);
  // All ranks know of a divergence; its causes are of interest to them.
  if (profile_ && (status.ok() || absl::IsFailedPrecondition(status))) {
    const absl::Status reported = ReportProfile(*profile_, losses_, &ranks_, request_.output_folder, err_);
    if (status.ok() && !reported.ok()) return reported;
  }
  return status.ok() ? KeepTiming(**trainer) : status;
}

absl::Status NetworkRun::LoadAndTrain() {
  const absl::StatusOr<std::vector<MlpMetric>> asked = MlpMetrics(parameters_);
  if (!asked.ok()) return asked.status();
  if (absl::Status status = LoadCheckpoint(); !status.ok()) return status;
  // A part of a budget ends at once; a complete training is checked against its data, which may have changed.
  if (request_.resource_to > 0 && state_.epochs > 0 && is_finished()) {
    PrintUnreported();
    const Network network = MakeNetwork(parameters_, state_.schema.features, state_.outputs);
    if (absl::Status status = FitPrecision(network); !status.ok()) return status;
    return Finish();
  }
  std::string warning;
  absl::StatusOr<TrainingData> loaded = LoadTrainingData(request_, parameters_, &ranks_, &warning);
  if (!warning.empty()) Warn(warning);
  if (!loaded.ok()) return loaded.status();
  data_ = *std::move(loaded);
  if (absl::Status status = FitBatch(); !status.ok()) return status;
  ScaleLabels();
  network_ = MakeNetwork(parameters_, data_.train.features, data_.outputs);
  if (absl::Status status = CheckMemory(network_, parameters_); !status.ok()) return status;
  if (absl::Status status = FitPrecision(network_); !status.ok()) return status;
  uint64_t fingerprint = data_.fingerprint;
  std::optional<TeacherLogits> teacher;
  if (!parameters_.teacher.empty()) {
    absl::StatusOr<TeacherLogits> asked_teacher =
        AskTeacher(parameters_, data_.train, data_.schema, data_.outputs, &crew_);
    if (!asked_teacher.ok()) return asked_teacher.status();
    teacher = *std::move(asked_teacher);
    fingerprint = HashOf(fingerprint, teacher->content);
    if (targets_) teacher->logits = WithScaledOutputs(teacher->logits, data_.schema.label_scaling);
  }
  const TrainingContext context{.parameters = trained_,
                                .network = network_,
                                .train = targets_ ? *targets_ : data_.train,
                                .teacher_outputs = teacher ? &teacher->logits : nullptr,
                                .ranks = &ranks_,
                                .crew = &crew_,
                                .profile = profile_ ? &*profile_ : nullptr,
                                .stop = &stop_};
  const EpochMetrics metrics(context, data_.train, data_.validation ? &*data_.validation : nullptr, *asked,
                             data_.schema.label_scaling);
  FitCheckpoint(metrics.names(), fingerprint);
  PrintUnreported();
  if (!is_finished()) {
    if (absl::Status status = Train(metrics, context); !status.ok()) return status;
  }
  return Finish();
}

}  // namespace

absl::Status RunTraining(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop,
                         std::FILE* out, std::FILE* err) {
  return NetworkRun(request, ranks, stop, out, err).Run();
}

}  // namespace winnow::mlp
