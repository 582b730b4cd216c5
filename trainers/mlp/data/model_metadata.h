#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/mlp/data/dense_data.h"

namespace winnow::mlp {

// The JSON in a model file beside its weights. Texts that are not UTF-8 are lists of their bytes.

// An object of texts, in the given order.
std::string HyperparametersJson(const std::vector<std::pair<std::string, std::string>>& hyperparameters);

std::string ReadingJson(const DataOptions& reading);
absl::StatusOr<DataOptions> ParseReading(const std::string& json);

std::string SchemaJson(const FeatureSchema& schema);
// InvalidArgument also if its parts are inconsistent.
absl::StatusOr<FeatureSchema> ParseSchema(const std::string& json);

}  // namespace winnow::mlp
