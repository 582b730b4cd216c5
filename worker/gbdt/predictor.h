#pragma once

#include <string>

#include "absl/status/status.h"

namespace winnow {

struct PredictRequest {
  std::string model_path;
  std::string data_path;
  std::string output_path;  // "": standard output
  bool margin = false;      // margins instead of what the objective makes of them
};

// Writes CSV with a header: "prediction" and a row for each row of the data; of a model of several classes a
// column "class_0", "class_1", … or "class_<level>" each. Numbers are in the fewest digits that bring the
// same float back.
absl::Status Predict(const PredictRequest& request);

}  // namespace winnow
