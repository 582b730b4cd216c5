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
#include <utility>
#include <vector>

#include "trainers/common/agreement.h"
#include "base/hash.h"
#include "trainers/common/metric_line.h"
#include "trainers/common/whole_file.h"
#include "trainers/mlp/data/training_input.h"
#include "trainers/mlp/epoch_metrics.h"
#include "trainers/mlp/model/checkpoint.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/model/teacher.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/network.h"
#include "trainers/mlp/network/optimizer.h"
#include "trainers/mlp/parallel/epoch_trainer.h"
#include "trainers/mlp/profile/profile.h"
#include "trainers/mlp/profile/profile_report.h"
#include "trainers/mlp/resumption.h"

namespace winnow::mlp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kCheckpointEvery{2};

double SecondsSince(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// Of all threads of the process.
double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Of parameters and the optimizer's state, each twice: as trained, and as the last whole epoch left them.
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

class MlpTrainingRun {
 public:
  MlpTrainingRun(const MlpTrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop,
                 std::FILE* out, std::FILE* err)
      : request_(request),
        parameters_(request.parameters),
        ranks_(*ranks),
        stop_(stop),
        out_(out),
        err_(err),
        crew_(static_cast<int>(request.parameters.nthread)) {
    if (parameters_.profile) profile_.emplace();
  }

  absl::Status Run();

 private:
  bool is_first() const { return ranks_.rank() == 0; }
  void Warn(const std::string& text) {
    if (is_first()) fmt::print(err_, "winnow-mlp: {}\n", text);
  }
  int64_t Target() const;
  bool is_finished() const { return state_.stopped_early || state_.epochs >= Target(); }
  ToldThings Told() const;

  absl::Status LoadCheckpoint();
  void FitCheckpoint(const std::vector<std::string>& metric_names, uint64_t fingerprint);
  absl::Status SaveCheckpoint();
  absl::Status SaveModel();

  absl::Status LoadAndTrain();
  absl::Status Train(const EpochMetrics& metrics, const TrainingContext& context);
  absl::Status TrainEpochs(EpochTrainer* trainer, const EpochMetrics& metrics);
  absl::Status TrainEpoch(EpochTrainer* trainer, const EpochMetrics& metrics);
  void Record(std::vector<double> values, const EpochResult& result);
  void PrintEpoch(int64_t epoch);
  void PrintUnreported();
  void WarnOfUndefined();
  void JudgeEpoch(const EpochMetrics::Deciding& deciding);
  absl::Status KeepTiming(const EpochTrainer& trainer);

  const MlpTrainRequest& request_;
  const MlpParameters& parameters_;
  Communicator& ranks_;
  const std::atomic<bool>& stop_;
  std::FILE* const out_;
  std::FILE* const err_;
  Crew crew_;
  std::optional<Profile> profile_;
  MlpData data_;
  Network network_;
  MlpCheckpoint state_;  // what the last whole epoch has left; rank 0's is complete
  int64_t saved_epochs_ = 0;
  Clock::time_point saved_at_;
  const Clock::time_point started_ = Clock::now();
  std::vector<double> losses_;
  struct {
    double setup = 0;  // seconds from the start of the run to the first epoch
    std::vector<double> epochs, epochs_cpu, evaluations;
    uint64_t bytes_sent = 0;
  } timing_;
};

int64_t MlpTrainingRun::Target() const {
  return request_.resource_to > 0 ? std::min(parameters_.epochs, request_.resource_to) : parameters_.epochs;
}

ToldThings MlpTrainingRun::Told() const {
  ToldThings told = ModelHyperparameters(parameters_);
  told.emplace_back("epochs", fmt::format("{}", parameters_.epochs));
  told.emplace_back("profile", fmt::format("{}", parameters_.profile));
  told.emplace_back("WINNOW_RESOURCE_TO", fmt::format("{}", request_.resource_to));
  return told;
}

absl::Status MlpTrainingRun::LoadCheckpoint() {
  std::optional<MlpCheckpoint> found;
  std::vector<std::string> warnings;
  if (is_first()) found = FindCheckpoint(request_.checkpoint_folder, parameters_, Target(), &warnings);
  for (const std::string& warning : warnings) Warn(warning);
  if (absl::Status status = ShareCheckpoint(&found, &ranks_); !status.ok()) return status;
  if (found) state_ = *std::move(found);
  saved_epochs_ = state_.epochs;
  return absl::OkStatus();
}

// Leaves state_ at an epoch that training can go on from, be it the first.
void MlpTrainingRun::FitCheckpoint(const std::vector<std::string>& metric_names, uint64_t fingerprint) {
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
  if (state_.epochs > 0)
    Warn(fmt::format("the checkpoint in {} was made with {}: training starts anew",
                     request_.checkpoint_folder, misfit));
  state_ = {};
  saved_epochs_ = 0;
  state_.hyperparameters = ModelHyperparameters(parameters_);
  state_.state = InitialState(network_, parameters_);
  state_.data_fingerprint = fingerprint;
  state_.schema = data_.schema;
  state_.outputs = data_.outputs;
  state_.metric_names = metric_names;
}

absl::Status MlpTrainingRun::SaveCheckpoint() {
  saved_at_ = Clock::now();
  if (request_.checkpoint_folder.empty() || !is_first() || state_.epochs == saved_epochs_)
    return absl::OkStatus();
  saved_epochs_ = state_.epochs;
  return WriteCheckpoint(request_.checkpoint_folder, state_);
}

absl::Status MlpTrainingRun::SaveModel() {
  if (request_.model_folder.empty() || !is_first()) return absl::OkStatus();
  const Network network = MakeNetwork(parameters_, state_.schema.features, state_.outputs);
  const NetworkState& learned = state_.best ? *state_.best : state_.state;
  const MlpModel model{
      parameters_,
      request_.train_reading,
      state_.schema,
      network,
      {.parameters = learned.parameters, .slots = {}, .statistics = learned.statistics, .step = 0}};
  const std::filesystem::path folder(request_.model_folder);
  if (absl::Status status = WriteModel((folder / "model.safetensors").string(), model); !status.ok())
    return status;
  return WriteOnnx((folder / "model.onnx").string(), model);
}

// Metrics of some ways of training (EpochResult::more) are known by name only, and may come and go with the
// number of ranks.
void MlpTrainingRun::Record(std::vector<double> values, const EpochResult& result) {
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

void MlpTrainingRun::PrintEpoch(int64_t epoch) {
  if (!is_first()) return;
  const std::vector<double>& values = state_.history[epoch];
  PrintMetricLine(out_, epoch, state_.metric_names, std::vector<float>(values.begin(), values.end()));
}

void MlpTrainingRun::PrintUnreported() {
  for (int64_t epoch = request_.resource_from; epoch < state_.epochs; ++epoch) PrintEpoch(epoch);
}

void MlpTrainingRun::WarnOfUndefined() {
  for (std::size_t m = 0; m < state_.metric_names.size(); ++m) {
    const std::string& name = state_.metric_names[m];
    if (name.ends_with("-auc") && std::isnan(state_.history.back()[m]))
      Warn(fmt::format("{} is nan: only one class is there", name));
  }
}

// The state after the best epoch is what becomes the model.
void MlpTrainingRun::JudgeEpoch(const EpochMetrics::Deciding& deciding) {
  const int64_t epoch = state_.epochs - 1;
  const auto value_at = [&](int64_t at) { return state_.history[at][deciding.position]; };
  const bool is_better = state_.best_epoch < 0 || std::isnan(value_at(state_.best_epoch)) ||
                         (deciding.higher_is_better ? value_at(epoch) > value_at(state_.best_epoch)
                                                    : value_at(epoch) < value_at(state_.best_epoch));
  if (is_better) {
    state_.best_epoch = epoch;
    state_.best = NetworkState{
        .parameters = state_.state.parameters, .slots = {}, .statistics = state_.state.statistics, .step = 0};
  }
  if (epoch - state_.best_epoch < parameters_.early_stopping_epochs) return;
  state_.stopped_early = true;
  Warn(fmt::format("stopped early: {} has not improved since epoch {}",
                   state_.metric_names[deciding.position], state_.best_epoch));
}

absl::Status MlpTrainingRun::TrainEpoch(EpochTrainer* trainer, const EpochMetrics& metrics) {
  const Clock::time_point begun = Clock::now();
  const double cpu_begun = ProcessorSeconds();
  const absl::StatusOr<EpochResult> result = trainer->Train(state_.epochs);
  if (!result.ok()) return result.status();
  timing_.epochs_cpu.push_back(ProcessorSeconds() - cpu_begun);
  const Clock::time_point trained = Clock::now();
  const double seconds = std::chrono::duration<double>(trained - begun).count();
  absl::StatusOr<std::vector<double>> values = [&] {
    const ProfileScope scope(profile_ ? &*profile_ : nullptr, Phase::kEvaluate, trainer->state().step);
    return metrics.Measure(state_.epochs, trainer->state(), *result, seconds);
  }();
  if (!values.ok()) return values.status();
  timing_.epochs.push_back(seconds);
  timing_.evaluations.push_back(SecondsSince(trained));
  timing_.bytes_sent += result->bytes_sent;
  losses_.push_back(result->loss);
  if (absl::Status status = trainer->Collect(&state_.state, &state_.extra); !status.ok()) return status;
  Record(*std::move(values), *result);
  ++state_.epochs;
  PrintEpoch(state_.epochs - 1);
  if (timing_.epochs.size() == 1) WarnOfUndefined();
  if (parameters_.early_stopping_epochs > 0 && metrics.deciding()) JudgeEpoch(*metrics.deciding());
  return absl::OkStatus();
}

absl::Status MlpTrainingRun::TrainEpochs(EpochTrainer* trainer, const EpochMetrics& metrics) {
  saved_at_ = Clock::now();
  while (!is_finished()) {
    const absl::StatusOr<bool> stops = AnyoneStops(stop_, &ranks_);
    if (!stops.ok()) return stops.status();
    if (*stops) break;
    const absl::Status status = TrainEpoch(trainer, metrics);
    if (absl::IsCancelled(status)) break;
    if (!status.ok()) return status;
    if (Clock::now() - saved_at_ < kCheckpointEvery) continue;
    if (absl::Status saved = SaveCheckpoint(); !saved.ok()) return saved;
  }
  return SaveCheckpoint();
}

absl::Status MlpTrainingRun::KeepTiming(const EpochTrainer& trainer) {
  const auto states = ranks_.AllGather(fmt::format("{}", trainer.state_bytes()));
  if (!states.ok()) return states.status();
  if (request_.timing_path.empty() || !is_first()) return absl::OkStatus();
  nlohmann::json state_bytes = nlohmann::json::array();
  for (const std::string& bytes : *states) state_bytes.push_back(std::stoull(bytes));
  const nlohmann::json json = {
      {"setup_seconds", timing_.setup},          {"epoch_seconds", timing_.epochs},
      {"epoch_cpu_seconds", timing_.epochs_cpu}, {"evaluate_seconds", timing_.evaluations},
      {"bytes_sent", timing_.bytes_sent},        {"state_bytes", state_bytes}};
  return WriteFileWhole(request_.timing_path, json.dump() + "\n");
}

absl::Status MlpTrainingRun::Train(const EpochMetrics& metrics, const TrainingContext& context) {
  absl::StatusOr<std::unique_ptr<EpochTrainer>> trainer =
      MakeEpochTrainer(context, state_.state, state_.extra);
  if (!trainer.ok()) return trainer.status();
  timing_.setup = SecondsSince(started_);
  const absl::Status status = TrainEpochs(trainer->get(), metrics);
  if (!status.ok() && !absl::IsFailedPrecondition(status)) (*trainer)->Fail(status);
  // All ranks know of a divergence, and may want to know its reasons.
  if (profile_ && (status.ok() || absl::IsFailedPrecondition(status))) {
    const absl::Status reported = ReportProfile(*profile_, losses_, &ranks_, request_.output_folder, err_);
    if (status.ok() && !reported.ok()) return reported;
  }
  return status.ok() ? KeepTiming(**trainer) : status;
}

absl::Status MlpTrainingRun::LoadAndTrain() {
  const absl::StatusOr<std::vector<MlpMetric>> asked = MlpMetrics(parameters_);
  if (!asked.ok()) return asked.status();
  if (absl::Status status = LoadCheckpoint(); !status.ok()) return status;
  // A part of a budget ends at once; whoever asks for a whole training may have other data by now.
  if (request_.resource_to > 0 && state_.epochs > 0 && is_finished()) {
    PrintUnreported();
    return SaveModel();
  }
  std::string warning;
  absl::StatusOr<MlpData> loaded = LoadMlpData(request_, parameters_, &ranks_, &warning);
  if (!warning.empty()) Warn(warning);
  if (!loaded.ok()) return loaded.status();
  data_ = *std::move(loaded);
  network_ = MakeNetwork(parameters_, data_.train.features, data_.outputs);
  if (absl::Status status = CheckMemory(network_, parameters_); !status.ok()) return status;
  uint64_t fingerprint = data_.fingerprint;
  std::optional<TeacherLogits> teacher;
  if (!parameters_.teacher.empty()) {
    absl::StatusOr<TeacherLogits> asked_teacher =
        AskTeacher(parameters_, data_.train, data_.schema, data_.outputs, &crew_);
    if (!asked_teacher.ok()) return asked_teacher.status();
    teacher = *std::move(asked_teacher);
    fingerprint = HashOf(fingerprint, teacher->content);
  }
  const TrainingContext context{.parameters = parameters_,
                                .network = network_,
                                .train = data_.train,
                                .teacher_outputs = teacher ? &teacher->logits : nullptr,
                                .ranks = &ranks_,
                                .crew = &crew_,
                                .profile = profile_ ? &*profile_ : nullptr,
                                .stop = &stop_};
  const EpochMetrics metrics(context, data_.validation ? &*data_.validation : nullptr, *asked);
  FitCheckpoint(metrics.names(), fingerprint);
  PrintUnreported();
  if (!is_finished()) {
    if (absl::Status status = Train(metrics, context); !status.ok()) return status;
  }
  if (is_finished()) return SaveModel();
  if (!request_.checkpoint_folder.empty()) return absl::OkStatus();
  return absl::CancelledError(
      fmt::format("told to stop after {} of {} epochs, and without a checkpoint folder nothing is kept",
                  state_.epochs, Target()));
}

absl::Status MlpTrainingRun::Run() {
  if (absl::Status status = AgreeOnRequest(Told(), &ranks_); !status.ok()) return status;
  if (absl::Status status = LoadAndTrain(); !status.ok()) return status;
  // No rank is done before rank 0 has written what is kept.
  uint64_t word = 0;
  return ranks_.AllReduceMax({&word, 1});
}

}  // namespace

absl::Status RunMlpTraining(const MlpTrainRequest& request, Communicator* ranks,
                            const std::atomic<bool>& stop, std::FILE* out, std::FILE* err) {
  const absl::Status status = MlpTrainingRun(request, ranks, stop, out, err).Run();
  if (!status.ok()) ranks->Fail(status);
  return status;
}

}  // namespace winnow::mlp
