#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/mlp/hyperparameters.h"

namespace winnow {

// Whether hyperparameters, each legal for itself, go together. `given`: first names of those that were given.
// InvalidArgument names one that contradicts another.
absl::Status CheckMlpTogether(const MlpParameters& parameters, const std::set<std::string>& given);

// What has no effect, cannot be repeated, or depends on the number of ranks, in words.
std::vector<std::string> MlpWarnings(const MlpParameters& parameters, const std::set<std::string>& given);

// Whether `metric` ("top5") is one that is computed under this loss. A legal name is loss, or of classes
// (cross_entropy, logistic) logloss, accuracy, error, auc and, of cross_entropy, topK with K in [1, 1000]; else rmse
// and mae.
bool IsMlpMetric(const std::string& metric, LossKind loss);
std::string MlpMetricNames(LossKind loss);
bool IsTopMetric(const std::string& metric);

}  // namespace winnow
