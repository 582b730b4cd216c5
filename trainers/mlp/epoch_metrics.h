#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/metric.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// The reported metrics of an epoch. Training data: loss and accuracy as seen by training, each row before its
// step. Validation data: all metrics, after the epoch. Also the speed. Metrics that training does not compute
// (auc; rmse with another loss than mse) are measured on the training data only without validation data,
// because that takes another pass. All are in the labels' own unit, also where the network learns scaled
// labels.
class EpochMetrics {
 public:
  // `train`: context.train with labels in their own unit, as those of validation (null: there is none).
  // `labels`: how context.train's are scaled. REQUIRES: context's parts, train and validation outlive it.
  EpochMetrics(const TrainingContext& context, const DenseData& train, const DenseData* validation,
               std::vector<MlpMetric> metrics, LabelScaling labels = {});

  // "train-loss", ..., "validation-loss", ..., "samples-per-second".
  const std::vector<std::string>& names() const { return names_; }

  // Returns their values after an epoch that took `seconds`. All ranks call it, and get the same values
  // except the speed. FailedPrecondition if one is not finite, except an auc of one class: "validation-loss
  // is nan after epoch 3: ...".
  absl::StatusOr<std::vector<double>> Measure(int64_t epoch, const NetworkState& state,
                                              const EpochResult& result, double seconds) const;

  // The metric for early stopping: the last of the validation data.
  struct Deciding {
    std::size_t position = 0;  // in names()
    bool higher_is_better = false;
  };
  std::optional<Deciding> deciding() const;

 private:
  absl::Status CheckFinite(int64_t epoch, const std::vector<double>& values) const;

  const TrainingContext& context_;
  const DenseData& train_;
  const DenseData* const validation_;
  const std::vector<MlpMetric> metrics_;
  std::vector<MlpMetric> seen_, passed_;  // of the training data: seen in training, and in another pass
  std::vector<std::string> names_;
  const LabelScaling labels_;
};

}  // namespace winnow::mlp
