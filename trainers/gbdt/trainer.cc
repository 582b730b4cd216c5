#include "trainers/gbdt/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/status_text.h"
#include "trainers/common/huge_pages.h"
#include "trainers/common/training_run.h"
#include "trainers/common/whole_file.h"
#include "trainers/data/cache/cache_folder.h"
#include "trainers/gbdt/booster.h"
#include "trainers/gbdt/hyperparameters/hyperparameter_constraints.h"
#include "trainers/gbdt/model/model_file.h"
#include "trainers/gbdt/objective/leaf_renewal.h"
#include "trainers/gbdt/objective/metric.h"
#include "trainers/gbdt/prediction_timer.h"
#include "trainers/gbdt/training_input.h"

namespace winnow::gbdt {
namespace {

absl::StatusOr<FeatureLimits> LimitsOf(const GbdtParameters& parameters,
                                       const std::vector<std::string>& names) {
  auto directions = MonotoneDirections(parameters, names);
  if (!directions.ok()) return directions.status();
  auto groups = InteractionGroups(parameters, names);
  if (!groups.ok()) return groups.status();
  return FeatureLimits{*std::move(directions), *std::move(groups)};
}

// About the bytes of the arrays with a value for each row that training allocates.
std::size_t BytesOfRows(const TrainingData& data, int64_t classes) {
  constexpr int64_t kShared = 32;    // a row's number twice, its rounded gradients, its keys in a ranking
  constexpr int64_t kOfAClass = 12;  // margin, gradient, hessian
  int64_t rows = data.train.targets.rows;
  if (data.validation) rows += data.validation->targets.rows;
  return static_cast<std::size_t>(rows * (kShared + classes * kOfAClass));
}

void CutTo(int64_t rounds, Model* model) {
  model->trees.resize(rounds * model->trees_per_round());
  if (!model->tree_weights.empty()) model->tree_weights.resize(model->trees.size());
}

// Levels are rounds.
class BoostingRun : public TrainingRun {
 public:
  BoostingRun(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop, std::FILE* out,
              std::FILE* err)
      : TrainingRun("winnow-gbdt", "round", request, ranks, stop, out, err), request_(request) {}

 private:
  ToldThings Told() const override;
  int64_t done() const override { return state_.model.rounds(); }
  int64_t target() const override { return UpToResource(given_rounds_ + request_.parameters.num_round); }
  bool stopped_early() const override { return state_.stopped_early; }
  const std::vector<std::string>& metric_names() const override { return state_.metric_names; }
  std::vector<float> ValuesAt(int64_t round) const override { return state_.history[round]; }
  void StopEarlyIfDue() override;
  absl::Status WriteCheckpoint(const std::set<std::string>& begun_with) override {
    return gbdt::WriteCheckpoint(request_.checkpoint_folder, state_, begun_with);
  }
  absl::Status WriteModel() override;
  absl::Status LoadAndTrain() override;

  bool CheckpointSuffices() const { return stopped_early() || (!state_.history.empty() && is_finished()); }
  absl::Status LoadCheckpoint();
  absl::Status StartFromModel();
  absl::Status Train(LoadedData loaded, ThreadPool* pool);
  absl::Status TrainRound(Booster* booster, const PredictionTimer* timer);
  // ModelMetrics come first, because the last metric decides about early stopping.
  std::vector<std::string> MetricNamesOf(const Booster& booster) const;
  std::vector<float> ModelValues(const PredictionTimer* timer);

  const TrainRequest& request_;
  Checkpoint state_;
  int64_t given_rounds_ = 0;  // of the model that training continues
  uint64_t given_hash_ = 0;   // of its content; 0 without one
  std::optional<ModelFeatures> given_features_;
  LeafCounter leaf_count_;
  int64_t best_ = 0, compared_ = 0;  // the best of the rounds before `compared_`; 0: none was compared
};

ToldThings BoostingRun::Told() const {
  std::map<std::string, std::string> told = ModelHyperparameters(request_.parameters);
  told["num_round"] = fmt::format("{}", request_.parameters.num_round);
  told["WINNOW_RESOURCE_TO"] = fmt::format("{}", request_.resource_to);
  return {told.begin(), told.end()};
}

// Leaves state_ without rounds unless there is a checkpoint of the same hyperparameters.
absl::Status BoostingRun::LoadCheckpoint() {
  state_.model.parameters = request_.parameters;
  const bool continues = !request_.continue_from.empty();
  const auto misfit = [&](const Checkpoint& checkpoint) {
    auto theirs = ModelHyperparameters(checkpoint.model.parameters),
         ours = ModelHyperparameters(request_.parameters);
    // The checkpoint's is that of the given model. Another model is told by its content, in the fingerprint.
    if (continues) {
      theirs.erase("base_score");
      ours.erase("base_score");
    }
    if (request_.has_origin)
      return OriginMisfit(GbdtDeclaration(), {theirs.begin(), theirs.end()}, {ours.begin(), ours.end()});
    return HyperparameterMisfit({theirs.begin(), theirs.end()}, {ours.begin(), ours.end()});
  };
  absl::StatusOr<std::optional<Checkpoint>> found =
      FindCheckpoint<Checkpoint>(ReadNewestCheckpoint, CheckpointText, ParseCheckpoint, misfit);
  if (!found.ok() || !*found) return found.status();
  state_ = **std::move(found);
  const double base_score = state_.model.parameters.base_score;
  state_.model.parameters = request_.parameters;
  if (continues || !request_.parameters.base_score_given) state_.model.parameters.base_score = base_score;
  if (continues) state_.model.parameters.base_score_given = true;
  return absl::OkStatus();
}

// Rounds of the given model have no metrics here.
absl::Status BoostingRun::StartFromModel() {
  if (request_.continue_from.empty()) return absl::OkStatus();
  absl::StatusOr<Model> given = ReadModel(request_.continue_from);
  if (!given.ok()) return given.status();
  const GbdtParameters& p = request_.parameters;
  const auto name_of = [](BoosterKind kind) { return kind == BoosterKind::kDart ? "dart" : "gbtree"; };
  if (given->parameters.objective != p.objective ||
      given->trees_per_round() != state_.model.trees_per_round() || given->parameters.booster != p.booster)
    return absl::InvalidArgumentError(fmt::format(
        "{}: a model of objective {} and booster {} with {} trees a round: expected {} and {} with {}",
        request_.continue_from, ObjectiveName(given->parameters.objective),
        name_of(given->parameters.booster), given->trees_per_round(), ObjectiveName(p.objective),
        name_of(p.booster), state_.model.trees_per_round()));
  given_rounds_ = given->used_rounds();
  given_hash_ = StableHash(ModelText(*given));
  given_features_ = ModelFeatures{given->feature_names, given->schema};
  if (done() > 0) return absl::OkStatus();  // a checkpoint of this training includes them
  if (p.base_score_given && p.base_score != given->parameters.base_score)
    Warn(fmt::format("hyperparameter base_score = {} has no effect: the model to continue has {}",
                     p.base_score, given->parameters.base_score));
  CutTo(given_rounds_, &*given);
  state_.model.trees = std::move(given->trees);
  state_.model.tree_weights = std::move(given->tree_weights);
  state_.model.feature_names = std::move(given->feature_names);
  state_.model.parameters.base_score = given->parameters.base_score;
  state_.model.parameters.base_score_given = true;
  return absl::OkStatus();
}

absl::Status BoostingRun::WriteModel() {
  Model& model = state_.model;
  if (done() > target()) {
    CutTo(target(), &model);
    model.best_round = -1;
  }
  return WriteFileWhole((std::filesystem::path(request_.model_folder) / "model.json").string(),
                        ModelText(model));
}

// As XGBoost: the last metric on the validation data decides.
void BoostingRun::StopEarlyIfDue() {
  const GbdtParameters& p = request_.parameters;
  if (p.early_stopping_rounds == 0) return;
  const bool higher = HigherIsBetter(p.metrics.back());
  if (compared_ == 0) best_ = compared_ = given_rounds_;
  for (; compared_ < done(); ++compared_) {
    const float value = state_.history[compared_].back(), before = state_.history[best_].back();
    if (higher ? value > before : value < before) best_ = compared_;
  }
  if (done() - 1 - best_ < p.early_stopping_rounds) return;
  state_.stopped_early = true;
  state_.model.best_round = best_;
  Warn(fmt::format("stopped early: {} has not improved since round {}", state_.metric_names.back(), best_));
}

std::vector<std::string> BoostingRun::MetricNamesOf(const Booster& booster) const {
  std::vector<std::string> names = ModelMetrics(request_.parameters);
  for (std::string& name : names) std::replace(name.begin(), name.end(), ':', '-');
  for (std::string& name : booster.MetricNames()) names.push_back(std::move(name));
  return names;
}

std::vector<float> BoostingRun::ModelValues(const PredictionTimer* timer) {
  std::vector<float> values;
  if (request_.parameters.model_size) values.push_back(static_cast<float>(leaf_count_.Of(state_.model)));
  if (timer != nullptr) values.push_back(static_cast<float>(timer->MicrosecondsPerRow(state_.model)));
  return values;
}

absl::Status BoostingRun::TrainRound(Booster* booster, const PredictionTimer* timer) {
  const Clock::time_point begun = Clock::now();
  if (absl::Status status = booster->TrainRound(); !status.ok()) return status;
  const Clock::time_point trained = Clock::now();
  absl::StatusOr<std::vector<float>> values = booster->Evaluate();
  if (!values.ok()) return values.status();
  timing_.levels.push_back(std::chrono::duration<double>(trained - begun).count());
  timing_.evaluations.push_back(SecondsSince(trained));
  std::vector<float> all = ModelValues(timer);
  all.insert(all.end(), values->begin(), values->end());
  state_.history.push_back(std::move(all));
  return absl::OkStatus();
}

absl::Status BoostingRun::Train(LoadedData loaded, ThreadPool* pool) {
  const TrainingData& data = loaded.data;
  absl::StatusOr<FeatureLimits> limits = LimitsOf(request_.parameters, data.feature_names);
  if (!limits.ok()) return limits.status();
  const absl::StatusOr<double> base_score =
      EstimateBaseScore(state_.model.parameters, data.train.targets, &ranks_);
  if (!base_score.ok()) return base_score.status();
  state_.model.parameters.base_score = *base_score;
  PreferHugePages(BytesOfRows(data, state_.model.parameters.classes()));
  Booster booster(data, *std::move(limits), &state_.model, &ranks_, pool);
  const bool resumes = !state_.history.empty();
  const uint64_t fingerprint = given_hash_ == 0 ? data.fingerprint : HashOf(data.fingerprint, given_hash_);
  if (resumes && (state_.data_fingerprint != fingerprint || state_.metric_names != MetricNamesOf(booster))) {
    WarnOfMisfit(given_hash_ == 0 ? "was made with other data"
                                  : "was made with other data or from another model");
    state_ = {};
    state_.model.parameters = request_.parameters;
    state_.model.parameters.base_score = *base_score;
    if (absl::Status status = StartFromModel(); !status.ok()) return status;
  }
  if (state_.history.empty())
    state_.history.assign(given_rounds_, std::vector<float>(MetricNamesOf(booster).size(), std::nanf("")));
  state_.data_fingerprint = fingerprint;
  state_.metric_names = MetricNamesOf(booster);
  state_.model.reading = request_.train_reading;
  state_.model.schema = data.schema;
  state_.model.feature_names = data.feature_names;
  PrintUnreported(given_rounds_);
  if (CheckpointSuffices()) return WriteTiming();
  booster.Start(loaded.tables ? &*loaded.tables : nullptr);
  timing_.setup = SecondsSince(started_);
  std::optional<PredictionTimer> timer;
  if (request_.parameters.prediction_time) timer.emplace(data);
  const auto train = [&] { return TrainRound(&booster, timer ? &*timer : nullptr); };
  if (absl::Status status = TrainLevels(train); !status.ok()) return status;
  timing_.bytes_sent = ranks_.bytes_sent();
  return WriteTiming();
}

absl::Status BoostingRun::LoadAndTrain() {
  if (absl::Status status = LoadCheckpoint(); !status.ok()) return status;
  if (absl::Status status = StartFromModel(); !status.ok()) return status;
  if (request_.parameters.booster == BoosterKind::kDart && done() > target()) {
    WarnOfMisfit(fmt::format("has {} rounds, and those after {} changed the weights of DART's trees", done(),
                             target()));
    state_ = {};
    state_.model.parameters = request_.parameters;
    if (absl::Status status = StartFromModel(); !status.ok()) return status;
  }
  // A part of a budget ends at once; a complete training is checked against its data, which may have changed.
  if (request_.resource_to > 0 && CheckpointSuffices()) {
    PrintUnreported(given_rounds_);
    return Finish();
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
  return Finish();
}

}  // namespace

absl::Status RunTraining(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop,
                         std::FILE* out, std::FILE* err) {
  return BoostingRun(request, ranks, stop, out, err).Run();
}

}  // namespace winnow::gbdt
