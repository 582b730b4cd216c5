#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/mlp/data/dense_data.h"

namespace winnow::mlp {

// What a model file says in JSON beside its weights. Texts that are not UTF-8 stand as lists of their bytes.

// An object of texts, in the order given.
std::string HyperparametersJson(const std::vector<std::pair<std::string, std::string>>& hyperparameters);

std::string ReadingJson(const DataOptions& reading);
absl::StatusOr<DataOptions> ParseReading(const std::string& json);

std::string SchemaJson(const FeatureSchema& schema);
// InvalidArgument also where the parts of it do not go together.
absl::StatusOr<FeatureSchema> ParseSchema(const std::string& json);

}  // namespace winnow::mlp
