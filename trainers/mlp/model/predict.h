#pragma once

#include <string>

#include "absl/status/status.h"

namespace winnow::mlp {

struct PredictRequest {
  std::string model_path;
  std::string data_path;    // images or a table, like the training data
  std::string output_path;  // "": standard output
  std::string label;        // column that is not a feature; "": the label of training
  int threads = 1;          // 0: as many as there are processors
  // Alternative outputs; at most one of them.
  bool probabilities = false;  // of each class
  bool logits = false;         // outputs of the last layer, before softmax or logistic
};

// Writes CSV with a header and a row per row of the data. Numbers have the fewest digits that restore the
// float. Columns:
//   predictions: "prediction": the class (for text labels its text; the first among equals), or the value;
//   probabilities: "class_0", "class_1", ... or "class_<level>" each;
//   logits: "logit_0", "logit_1", ...
absl::Status Predict(const PredictRequest& request);

}  // namespace winnow::mlp
