#include "worker/gbdt/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "worker/data/reader.h"
#include "worker/data/split.h"
#include "worker/gbdt/booster.h"
#include "worker/gbdt/metric.h"
#include "worker/gbdt/model_file.h"
#include "worker/gbdt/status_text.h"

namespace winnow {
namespace {

constexpr std::chrono::seconds kCheckpointEvery{2};

struct LoadedData {
  DataSet train;
  std::optional<DataSet> validation;
};

class TrainingRun {
 public:
  TrainingRun(const TrainRequest& request, const std::atomic<bool>& stop, std::FILE* out, std::FILE* err)
      : request_(request), stop_(stop), out_(out), err_(err) {}

  absl::Status Run();

 private:
  void Warn(const std::string& text) { fmt::print(err_, "winnow-gbdt: {}\n", text); }
  int64_t Target() const;
  absl::StatusOr<LoadedData> Load() const;
  void LoadCheckpoint();
  bool CheckpointSuffices() const;
  absl::Status Train(const LoadedData& data);
  absl::Status SaveCheckpoint();
  absl::Status SaveModel();
  void PrintRound(int64_t round);
  void PrintUnreported();
  void WarnOfUndefined(const LoadedData& data);
  void StopEarlyIfDue();

  const TrainRequest& request_;
  const std::atomic<bool>& stop_;
  std::FILE* const out_;
  std::FILE* const err_;
  GbdtCheckpoint state_;
  std::chrono::steady_clock::time_point saved_at_;
};

int64_t TrainingRun::Target() const {
  const int64_t rounds = request_.parameters.num_round;
  return request_.resource_to > 0 ? std::min(rounds, request_.resource_to) : rounds;
}

absl::StatusOr<LoadedData> TrainingRun::Load() const {
  LoadedData data;
  absl::StatusOr<DataSet> train = ReadDataSet(request_.train_path, request_.train_reading, nullptr);
  if (!train.ok()) return train.status();
  if (!request_.validation_path.empty()) {
    absl::StatusOr<DataSet> validation =
        ReadDataSet(request_.validation_path, request_.validation_reading, &train->schema);
    if (!validation.ok()) return validation.status();
    data.validation = *std::move(validation);
  } else if (request_.validation_fraction > 0) {
    auto parts = SplitByFraction(*std::move(train), request_.validation_fraction, request_.split_seed);
    if (!parts.ok()) return parts.status();
    train = std::move(parts->first);
    data.validation = std::move(parts->second);
  }
  data.train = *std::move(train);
  const GbdtParameters& p = request_.parameters;
  if (absl::Status status = CheckTrainable(p, data.train, request_.train_path); !status.ok()) return status;
  if (data.validation) {
    const std::string& name =
        request_.validation_path.empty() ? request_.train_path : request_.validation_path;
    if (absl::Status status = CheckTrainable(p, *data.validation, name); !status.ok()) return status;
  } else if (p.early_stopping_rounds > 0) {
    return absl::InvalidArgumentError(
        fmt::format("hyperparameter early_stopping_rounds = {}: expected validation data to go with it",
                    p.early_stopping_rounds));
  }
  return data;
}

// Leaves state_ empty unless there is a checkpoint of the same hyperparameters.
void TrainingRun::LoadCheckpoint() {
  state_.model.parameters = request_.parameters;
  if (request_.checkpoint_folder.empty()) return;
  std::vector<std::string> warnings;
  absl::StatusOr<GbdtCheckpoint> found = ReadNewestCheckpoint(request_.checkpoint_folder, &warnings);
  for (const std::string& warning : warnings) Warn(warning);
  if (!found.ok()) {
    if (!warnings.empty()) Warn("training starts anew");
    return;
  }
  const auto theirs = ModelHyperparameters(found->model.parameters);
  for (const auto& [name, value] : ModelHyperparameters(request_.parameters)) {
    if (theirs.at(name) == value) continue;
    Warn(fmt::format("the checkpoint in {} was made with {} = {}, not {}: training starts anew",
                     request_.checkpoint_folder, name, theirs.at(name), value));
    return;
  }
  state_ = *std::move(found);
  state_.model.parameters = request_.parameters;
}

bool TrainingRun::CheckpointSuffices() const {
  return state_.stopped_early || (state_.model.rounds() > 0 && state_.model.rounds() >= Target());
}

void TrainingRun::PrintRound(int64_t round) {
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "[{}]", round);
  for (std::size_t m = 0; m < state_.metric_names.size(); ++m)
    fmt::format_to(std::back_inserter(line), "\t{}:{}", state_.metric_names[m], state_.history[round][m]);
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
}

void TrainingRun::PrintUnreported() {
  const int64_t known = std::min(state_.model.rounds(), Target());
  for (int64_t round = request_.resource_from; round < known; ++round) PrintRound(round);
}

absl::Status TrainingRun::SaveCheckpoint() {
  saved_at_ = std::chrono::steady_clock::now();
  if (request_.checkpoint_folder.empty()) return absl::OkStatus();
  return WriteCheckpoint(request_.checkpoint_folder, state_);
}

absl::Status TrainingRun::SaveModel() {
  if (request_.model_folder.empty()) return absl::OkStatus();
  GbdtModel& model = state_.model;
  if (model.rounds() > Target()) {
    model.trees.resize(Target() * model.parameters.classes());
    model.best_round = -1;
  }
  return WriteFileWhole((std::filesystem::path(request_.model_folder) / "model.json").string(),
                        ModelText(model));
}

// As XGBoost: the last metric on the validation data decides.
void TrainingRun::StopEarlyIfDue() {
  const GbdtParameters& p = request_.parameters;
  if (p.early_stopping_rounds == 0) return;
  const bool higher = HigherIsBetter(p.metrics.back());
  int64_t best = 0;
  for (int64_t round = 1; round < state_.model.rounds(); ++round) {
    const float value = state_.history[round].back(), before = state_.history[best].back();
    if (higher ? value > before : value < before) best = round;
  }
  if (state_.model.rounds() - 1 - best < p.early_stopping_rounds) return;
  state_.stopped_early = true;
  state_.model.best_round = best;
  Warn(fmt::format("stopped early: {} has not improved since round {}", state_.metric_names.back(), best));
}

void TrainingRun::WarnOfUndefined(const LoadedData& data) {
  const auto one_class = [](const DataSet& set) {
    return std::all_of(set.label.begin(), set.label.end(),
                       [&](float label) { return label == set.label[0]; });
  };
  for (MetricKind metric : request_.parameters.metrics) {
    if (metric != MetricKind::kAuc && metric != MetricKind::kAucPr) continue;
    if (one_class(data.train))
      Warn(fmt::format("train-{} is nan: only one class is there", MetricName(metric)));
    if (data.validation && one_class(*data.validation))
      Warn(fmt::format("validation-{} is nan: only one class is there", MetricName(metric)));
  }
}

absl::Status TrainingRun::Train(const LoadedData& data) {
  int threads = static_cast<int>(request_.parameters.nthread);
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  ThreadPool pool(threads);
  Booster booster(data.train, data.validation ? &*data.validation : nullptr, &state_.model, &pool);
  const uint64_t fingerprint = booster.DataFingerprint();
  if (state_.model.rounds() > 0 &&
      (state_.data_fingerprint != fingerprint || state_.metric_names != booster.MetricNames())) {
    Warn(fmt::format("the checkpoint in {} was made with other data: training starts anew",
                     request_.checkpoint_folder));
    state_ = {};
    state_.model.parameters = request_.parameters;
  }
  state_.data_fingerprint = fingerprint;
  state_.metric_names = booster.MetricNames();
  state_.model.reading = request_.train_reading;
  state_.model.schema = data.train.schema;
  state_.model.feature_names = data.train.feature_names;
  PrintUnreported();
  booster.Start();
  WarnOfUndefined(data);
  saved_at_ = std::chrono::steady_clock::now();
  while (state_.model.rounds() < Target() && !state_.stopped_early && !stop_) {
    booster.TrainRound();
    state_.history.push_back(booster.Evaluate());
    PrintRound(state_.model.rounds() - 1);
    StopEarlyIfDue();
    if (std::chrono::steady_clock::now() - saved_at_ < kCheckpointEvery) continue;
    if (absl::Status status = SaveCheckpoint(); !status.ok()) return status;
  }
  return SaveCheckpoint();
}

absl::Status TrainingRun::Run() {
  LoadCheckpoint();
  if (CheckpointSuffices()) {
    PrintUnreported();
    return SaveModel();
  }
  absl::StatusOr<LoadedData> data = Load();
  if (!data.ok()) return data.status();
  if (absl::Status status = Train(*data); !status.ok()) return status;
  const bool finished = state_.stopped_early || state_.model.rounds() >= Target();
  if (finished) return SaveModel();
  if (!request_.checkpoint_folder.empty()) return absl::OkStatus();
  return absl::CancelledError(
      fmt::format("told to stop after {} of {} rounds, and without a checkpoint folder nothing is kept",
                  state_.model.rounds(), Target()));
}

}  // namespace

absl::Status RunTraining(const TrainRequest& request, const std::atomic<bool>& stop, std::FILE* out,
                         std::FILE* err) {
  return TrainingRun(request, stop, out, err).Run();
}

}  // namespace winnow
