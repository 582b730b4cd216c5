#include "trainers/gbdt/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "trainers/common/agreement.h"
#include "base/hash.h"
#include "trainers/common/metric_line.h"
#include "base/status_text.h"
#include "trainers/common/whole_file.h"
#include "trainers/data/cache/cache_folder.h"
#include "trainers/gbdt/booster.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_constraints.h"
#include "trainers/gbdt/model/model_file.h"
#include "trainers/gbdt/objective/leaf_renewal.h"
#include "trainers/gbdt/objective/metric.h"
#include "trainers/gbdt/training_input.h"

namespace winnow::gbdt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kCheckpointEvery{2};

double SecondsSince(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

absl::StatusOr<FeatureLimits> LimitsOf(const GbdtParameters& parameters,
                                       const std::vector<std::string>& names) {
  auto directions = MonotoneDirections(parameters, names);
  if (!directions.ok()) return directions.status();
  auto groups = InteractionGroups(parameters, names);
  if (!groups.ok()) return groups.status();
  return FeatureLimits{*std::move(directions), *std::move(groups)};
}

class TrainingRun {
 public:
  TrainingRun(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop, std::FILE* out,
              std::FILE* err)
      : request_(request), ranks_(*ranks), stop_(stop), out_(out), err_(err) {}

  absl::Status Run();

 private:
  bool is_first() const { return ranks_.rank() == 0; }
  void Warn(const std::string& text) {
    if (is_first()) fmt::print(err_, "winnow-gbdt: {}\n", text);
  }
  int64_t Target() const;
  void TakeCheckpoint(GbdtCheckpoint found);
  void FindCheckpoint();
  ToldThings Told() const;
  absl::Status LoadCheckpoint();
  absl::Status StartFromModel();
  absl::Status LoadAndTrain();
  bool CheckpointSuffices() const;
  absl::Status Train(LoadedData loaded, ThreadPool* pool);
  absl::Status Boost(Booster* booster);
  absl::Status SaveCheckpoint();
  absl::Status SaveModel();
  void PrintRound(int64_t round);
  void PrintUnreported();
  void WarnOfUndefined();
  absl::Status WriteTiming() const;
  void StopEarlyIfDue();

  const TrainRequest& request_;
  Communicator& ranks_;
  const std::atomic<bool>& stop_;
  std::FILE* const out_;
  std::FILE* const err_;
  GbdtCheckpoint state_;
  int64_t given_rounds_ = 0;  // of the model that training goes on from
  uint64_t given_hash_ = 0;   // of its content; 0 without one
  std::optional<ModelFeatures> given_features_;
  Clock::time_point saved_at_;
  const Clock::time_point started_ = Clock::now();
  struct {
    double setup = 0;  // seconds from the start of the run to the first round
    std::vector<double> rounds, evaluations;
    uint64_t bytes_sent = 0;
  } timing_;
};

int64_t TrainingRun::Target() const {
  const int64_t rounds = given_rounds_ + request_.parameters.num_round;
  return request_.resource_to > 0 ? std::min(rounds, request_.resource_to) : rounds;
}

// A base score that was estimated is the checkpoint's.
void TrainingRun::TakeCheckpoint(GbdtCheckpoint found) {
  const double base_score = found.model.parameters.base_score;
  state_ = std::move(found);
  state_.model.parameters = request_.parameters;
  if (!request_.parameters.base_score_given) state_.model.parameters.base_score = base_score;
}

// Leaves state_ without rounds unless there is a checkpoint of the same hyperparameters.
void TrainingRun::FindCheckpoint() {
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
  TakeCheckpoint(*std::move(found));
}

ToldThings TrainingRun::Told() const {
  std::map<std::string, std::string> told = ModelHyperparameters(request_.parameters);
  told["num_round"] = fmt::format("{}", request_.parameters.num_round);
  told["WINNOW_RESOURCE_TO"] = fmt::format("{}", request_.resource_to);
  return {told.begin(), told.end()};
}

// Rank 0's counts, wherever the others are.
absl::Status TrainingRun::LoadCheckpoint() {
  state_.model.parameters = request_.parameters;
  std::string text;
  if (is_first()) {
    FindCheckpoint();
    if (ranks_.size() > 1 && state_.model.rounds() > 0) text = CheckpointText(state_);
  }
  if (absl::Status status = ranks_.Broadcast(0, &text); !status.ok()) return status;
  if (is_first() || text.empty()) return absl::OkStatus();
  absl::StatusOr<GbdtCheckpoint> theirs = ParseCheckpoint(text);
  if (!theirs.ok()) return theirs.status();
  TakeCheckpoint(*std::move(theirs));
  return absl::OkStatus();
}

// Rounds of the given model have no metrics here.
absl::Status TrainingRun::StartFromModel() {
  if (request_.continue_from.empty()) return absl::OkStatus();
  absl::StatusOr<GbdtModel> given = ReadModel(request_.continue_from);
  if (!given.ok()) return given.status();
  const GbdtParameters& p = request_.parameters;
  if (given->parameters.objective != p.objective ||
      given->trees_per_round() != state_.model.trees_per_round() || given->parameters.booster != p.booster)
    return absl::InvalidArgumentError(fmt::format(
        "{}: a model of objective {} with {} trees a round: expected {} with {}, and the same booster",
        request_.continue_from, ObjectiveName(given->parameters.objective), given->trees_per_round(),
        ObjectiveName(p.objective), state_.model.trees_per_round()));
  given_rounds_ = given->used_rounds();
  given_hash_ = StableHash(ModelText(*given));
  given_features_ = ModelFeatures{given->feature_names, given->schema};
  if (state_.model.rounds() > 0) return absl::OkStatus();  // a checkpoint of this training knows them
  state_.model.trees = std::move(given->trees);
  state_.model.trees.resize(given_rounds_ * given->trees_per_round());
  state_.model.tree_weights = std::move(given->tree_weights);
  state_.model.feature_names = std::move(given->feature_names);
  state_.model.parameters.base_score = given->parameters.base_score;
  state_.model.parameters.base_score_given = true;
  return absl::OkStatus();
}

bool TrainingRun::CheckpointSuffices() const {
  return state_.stopped_early || (!state_.history.empty() && state_.model.rounds() >= Target());
}

void TrainingRun::PrintRound(int64_t round) {
  if (is_first()) PrintMetricLine(out_, round, state_.metric_names, state_.history[round]);
}

void TrainingRun::PrintUnreported() {
  const int64_t known = std::min(state_.model.rounds(), Target());
  for (int64_t round = std::max(request_.resource_from, given_rounds_); round < known; ++round)
    PrintRound(round);
}

absl::Status TrainingRun::SaveCheckpoint() {
  saved_at_ = Clock::now();
  if (request_.checkpoint_folder.empty() || !is_first()) return absl::OkStatus();
  return WriteCheckpoint(request_.checkpoint_folder, state_);
}

absl::Status TrainingRun::SaveModel() {
  if (request_.model_folder.empty() || !is_first()) return absl::OkStatus();
  GbdtModel& model = state_.model;
  if (model.rounds() > Target()) {
    model.trees.resize(Target() * model.trees_per_round());
    if (!model.tree_weights.empty()) model.tree_weights.resize(model.trees.size());
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
  int64_t best = given_rounds_;
  for (int64_t round = best + 1; round < state_.model.rounds(); ++round) {
    const float value = state_.history[round].back(), before = state_.history[best].back();
    if (higher ? value > before : value < before) best = round;
  }
  if (state_.model.rounds() - 1 - best < p.early_stopping_rounds) return;
  state_.stopped_early = true;
  state_.model.best_round = best;
  Warn(fmt::format("stopped early: {} has not improved since round {}", state_.metric_names.back(), best));
}

void TrainingRun::WarnOfUndefined() {
  for (std::size_t m = 0; m < state_.metric_names.size(); ++m) {
    const std::string& name = state_.metric_names[m];
    const bool ranks_classes = name.find("-auc") != std::string::npos;
    if (ranks_classes && std::isnan(state_.history.back()[m]))
      Warn(fmt::format("{} is nan: only one class is there", name));
  }
}

absl::Status TrainingRun::WriteTiming() const {
  if (request_.timing_path.empty()) return absl::OkStatus();
  const nlohmann::json json = {{"setup_seconds", timing_.setup},
                               {"round_seconds", timing_.rounds},
                               {"evaluate_seconds", timing_.evaluations},
                               {"bytes_sent", timing_.bytes_sent}};
  return WriteFileWhole(request_.timing_path, json.dump() + "\n");
}

absl::Status TrainingRun::Boost(Booster* booster) {
  saved_at_ = Clock::now();
  while (state_.model.rounds() < Target() && !state_.stopped_early) {
    const absl::StatusOr<bool> stops = AnyoneStops(stop_, &ranks_);
    if (!stops.ok()) return stops.status();
    if (*stops) break;
    const Clock::time_point begun = Clock::now();
    if (absl::Status status = booster->TrainRound(); !status.ok()) return status;
    const Clock::time_point trained = Clock::now();
    absl::StatusOr<std::vector<float>> values = booster->Evaluate();
    if (!values.ok()) return values.status();
    timing_.rounds.push_back(std::chrono::duration<double>(trained - begun).count());
    timing_.evaluations.push_back(SecondsSince(trained));
    state_.history.push_back(*std::move(values));
    PrintRound(state_.model.rounds() - 1);
    if (timing_.rounds.size() == 1) WarnOfUndefined();
    StopEarlyIfDue();
    if (Clock::now() - saved_at_ < kCheckpointEvery) continue;
    if (absl::Status status = SaveCheckpoint(); !status.ok()) return status;
  }
  return SaveCheckpoint();
}

absl::Status TrainingRun::Train(LoadedData loaded, ThreadPool* pool) {
  const TrainingData& data = loaded.data;
  absl::StatusOr<FeatureLimits> limits = LimitsOf(request_.parameters, data.feature_names);
  if (!limits.ok()) return limits.status();
  const absl::StatusOr<double> base_score =
      EstimateBaseScore(state_.model.parameters, data.train.targets, &ranks_);
  if (!base_score.ok()) return base_score.status();
  state_.model.parameters.base_score = *base_score;
  Booster booster(data, *std::move(limits), &state_.model, &ranks_, pool);
  const bool resumes = !state_.history.empty();
  const uint64_t fingerprint = given_hash_ == 0 ? data.fingerprint : HashOf(data.fingerprint, given_hash_);
  if (resumes && (state_.data_fingerprint != fingerprint || state_.metric_names != booster.MetricNames())) {
    Warn(fmt::format("the checkpoint in {} was made with other data{}: training starts anew",
                     request_.checkpoint_folder, given_hash_ == 0 ? "" : " or from another model"));
    state_ = {};
    state_.model.parameters = request_.parameters;
    state_.model.parameters.base_score = *base_score;
    if (absl::Status status = StartFromModel(); !status.ok()) return status;
  }
  if (state_.history.empty())
    state_.history.assign(given_rounds_, std::vector<float>(booster.MetricNames().size(), std::nanf("")));
  state_.data_fingerprint = fingerprint;
  state_.metric_names = booster.MetricNames();
  state_.model.reading = request_.train_reading;
  state_.model.schema = data.schema;
  state_.model.feature_names = data.feature_names;
  PrintUnreported();
  if (CheckpointSuffices()) return WriteTiming();
  if (loaded.tables)
    booster.Start(StartMargins{loaded.tables->TrainMargins(state_.model, pool),
                               loaded.tables->ValidationMargins(state_.model, pool)});
  else
    booster.Start();
  timing_.setup = SecondsSince(started_);
  if (absl::Status status = Boost(&booster); !status.ok()) return status;
  timing_.bytes_sent = ranks_.bytes_sent();
  return WriteTiming();
}

absl::Status TrainingRun::Run() {
  if (absl::Status status = AgreeOnRequest(Told(), &ranks_); !status.ok()) return status;
  if (absl::Status status = LoadAndTrain(); !status.ok()) return status;
  // No rank is done before rank 0 has written what is kept.
  uint64_t word = 0;
  return ranks_.AllReduceMax({&word, 1});
}

absl::Status TrainingRun::LoadAndTrain() {
  if (absl::Status status = LoadCheckpoint(); !status.ok()) return status;
  if (absl::Status status = StartFromModel(); !status.ok()) return status;
  if (request_.parameters.booster == BoosterKind::kDart && state_.model.rounds() > Target()) {
    Warn(fmt::format(
        "the checkpoint in {} has {} rounds, and those after {} changed the weights of DART's trees: "
        "training starts anew",
        request_.checkpoint_folder, state_.model.rounds(), Target()));
    state_ = {};
    state_.model.parameters = request_.parameters;
    if (absl::Status status = StartFromModel(); !status.ok()) return status;
  }
  // A part of a budget ends at once; whoever asks for a whole training may have other data by now.
  if (request_.resource_to > 0 && CheckpointSuffices()) {
    PrintUnreported();
    return SaveModel();
  }
  int threads = static_cast<int>(request_.parameters.nthread);
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  ThreadPool pool(threads);
  std::string warning;
  absl::StatusOr<LoadedData> loaded =
      LoadTrainingData(request_, given_features_ ? &*given_features_ : nullptr, &ranks_, &pool, &warning);
  if (!warning.empty()) Warn(warning);
  if (!loaded.ok()) return loaded.status();
  if (absl::Status status = Train(*std::move(loaded), &pool); !status.ok()) return status;
  const bool finished = state_.stopped_early || state_.model.rounds() >= Target();
  if (finished) return SaveModel();
  if (!request_.checkpoint_folder.empty()) return absl::OkStatus();
  return absl::CancelledError(
      fmt::format("told to stop after {} of {} rounds, and without a checkpoint folder nothing is kept",
                  state_.model.rounds(), Target()));
}

}  // namespace

absl::Status RunTraining(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop,
                         std::FILE* out, std::FILE* err) {
  const absl::Status status = TrainingRun(request, ranks, stop, out, err).Run();
  if (!status.ok()) ranks->Fail(status);
  return status;
}

}  // namespace winnow::gbdt
