#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>

namespace winnow {

// Whether a document has no number with a fraction or an exponent. Reading large ones as integers would be
// undefined behaviour.
inline bool HasOnlyWholeNumbers(const nlohmann::json& json) {
  if (!json.is_structured()) return !json.is_number_float();
  return std::all_of(json.begin(), json.end(), HasOnlyWholeNumbers);
}

}  // namespace winnow
