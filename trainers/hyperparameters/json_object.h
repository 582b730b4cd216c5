#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/hyperparameters/declaration.h"

namespace winnow {

// How trainers get their hyperparameters: as one JSON object (SM_HPS, --hyperparameters).

// The values by first names. InvalidArgument: the text is not a JSON object, or a name is unknown or given
// twice.
absl::StatusOr<std::map<std::string, nlohmann::json>> ReadHyperparameters(const Declaration& declaration,
                                                                          const std::string& json);

// A value as text: strings as they are, other values as JSON.
std::string Shown(const nlohmann::json& value);

// "hyperparameter eta = 2: expected ..."
absl::Status BadValue(const std::string& name, const nlohmann::json& value, const std::string& expected);

// The first contradiction as such an error; OK where there is none.
absl::Status CheckTogether(const Declaration& declaration, const Given& given);

}  // namespace winnow
