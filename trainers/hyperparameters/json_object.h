#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/hyperparameters/declaration.h"

namespace winnow {

// How trainers get their hyperparameters: as one JSON object (SM_HPS, --hyperparameters).

struct GivenValue {
  std::string name;  // as it is given, the first or another one
  nlohmann::json value;
};
using GivenValues = std::map<std::string, GivenValue>;  // by first names

// InvalidArgument: the text is not a JSON object, or a name is unknown or given twice.
absl::StatusOr<GivenValues> ReadHyperparameters(const Declaration& declaration, const std::string& json);

Given TextsOf(const GivenValues& values);

// A value as text: strings as they are, other values as JSON.
std::string Shown(const nlohmann::json& value);

// "hyperparameter eta = 2: expected ..."
absl::Status BadValue(const GivenValue& given, const std::string& expected);

// The first contradiction as such an error; OK where there is none.
absl::Status CheckTogether(const Declaration& declaration, const GivenValues& values);

}  // namespace winnow
