#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/booster.h"
#include "trainers/gbdt/training_data.h"

namespace winnow::gbdt {

// Options of a training besides parameters and data.
struct TrainOptions {
  int threads = 1;
  const DataSet* validation = nullptr;
  std::vector<float>* last_metrics = nullptr;
  std::vector<Tree> from = {};
  FeatureLimits limits = {};
};

inline TrainingData Binned(const DataSet& train, int64_t max_bin = 256, const DataSet* validation = nullptr,
                           int threads = 1) {
  ThreadPool pool(threads);
  std::optional<DataSet> other;
  if (validation != nullptr) other = *validation;
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  return *MakeTrainingData(train, std::move(other), static_cast<int>(max_bin), sole.get(), &pool);
}

// This rank's part of a training, from data in bins.
inline absl::StatusOr<Model> TrainOnRank(const GbdtParameters& parameters, const TrainingData& data,
                                         Communicator* ranks, TrainOptions options = {}) {
  Model model;
  model.parameters = parameters;
  model.feature_names = data.feature_names;
  model.schema = data.schema;
  model.trees = std::move(options.from);
  ThreadPool pool(options.threads);
  Booster booster(data, options.limits, &model, ranks, &pool);
  booster.Start();
  while (model.rounds() < parameters.num_round) {
    if (absl::Status status = booster.TrainRound(); !status.ok()) return status;
  }
  if (options.last_metrics != nullptr) {
    absl::StatusOr<std::vector<float>> metrics = booster.Evaluate();
    if (!metrics.ok()) return metrics.status();
    *options.last_metrics = *std::move(metrics);
  }
  return model;
}

inline Model Train(const GbdtParameters& parameters, const DataSet& train, TrainOptions options = {}) {
  const TrainingData data = Binned(train, parameters.max_bin, options.validation, options.threads);
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  return *TrainOnRank(parameters, data, sole.get(), std::move(options));
}

// Samples rows and columns, and has other options that make a model depend on more than its data.
inline GbdtParameters SampledParameters(int64_t rounds = 12) {
  GbdtParameters p;
  p.objective = ObjectiveKind::kBinaryLogistic;
  p.num_round = rounds;
  p.metrics = {MetricKind::kAuc, MetricKind::kLogLoss};
  p.subsample = 0.7;
  p.colsample_bytree = 0.8;
  p.colsample_bylevel = 0.7;
  p.colsample_bynode = 0.6;
  p.alpha = 0.1;
  p.seed = 42;
  return p;
}

}  // namespace winnow::gbdt
