#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// A measure of a network's predictions on rows. Means are weighted by the rows' weights.
struct MlpMetric {
  enum class Kind {
    kLoss,      // "loss": mean of the training loss, without label smoothing and teacher, so that trials
                // which differ in these are comparable: PyTorch's CrossEntropyLoss, BCEWithLogitsLoss,
                // MSELoss and HuberLoss
    kLogLoss,   // "logloss": mean of -ln(probability of the label)
    kAccuracy,  // "accuracy": fraction of rows whose largest output (the first among equals) is the label's;
                // with one output, whose sign is
    kError,     // "error": 1 - accuracy
    kTop,       // "topK": fraction of rows whose label is among the K largest outputs
    kAuc,       // "auc": area under the ROC curve, ties counted half; for classes the plain mean over the
                // classes, each against the rest, ranked by its probability
    kRmse,      // "rmse"
    kMae,       // "mae"
  };
  Kind kind = Kind::kLoss;
  int top = 0;  // K of kTop

  friend bool operator==(const MlpMetric&, const MlpMetric&) = default;
};

// InvalidArgument if the name is unknown or not for this loss; its message is what was expected.
absl::StatusOr<MlpMetric> ParseMlpMetric(std::string_view name, LossKind loss);

// Returns those of parameters.metrics, in order, each once; by default the loss's own: loss and accuracy
// (classes), loss and auc (logistic), loss and rmse. InvalidArgument as above.
absl::StatusOr<std::vector<MlpMetric>> MlpMetrics(const MlpParameters& parameters);

std::string MlpMetricName(const MlpMetric& metric);  // as ParseMlpMetric reads it
bool HigherIsBetter(const MlpMetric& metric);

}  // namespace winnow::mlp
