#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

// Reads a hyperparameter's value, given as itself or as a string; nullopt: it is of another kind.
std::optional<double> AsReal(const nlohmann::json& value);
std::optional<int64_t> AsWhole(const nlohmann::json& value);  // up to 2^63 - 1 without loss; 6.0 is whole
std::optional<bool> AsTruth(const nlohmann::json& value);     // true, false, 1, 0
std::string Trimmed(std::string_view text);                   // without white space at its ends

// "hyperparameter eta = 2: expected ..."
absl::Status BadValue(const std::string& name, const nlohmann::json& value, const std::string& expected);
std::string Shown(const nlohmann::json& value);

}  // namespace winnow
