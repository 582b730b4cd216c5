#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace winnow {

struct PredictRequest {
  std::string model_path;
  std::string data_path;
  std::string output_path;  // "": standard output
  int64_t rounds = 0;       // use the model as it was after so many rounds; 0: as it was trained
  bool margin = false;      // margins instead of what the objective makes of them
};

// Writes CSV with a header: "prediction" and a row for each row of the data; of a model of several classes a
// column "class_0", "class_1", … or "class_<level>" each. Numbers are in the fewest digits that bring the
// same float back.
absl::Status Predict(const PredictRequest& request);

}  // namespace winnow
