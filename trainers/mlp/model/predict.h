#pragma once

#include <string>

#include "absl/status/status.h"

namespace winnow::mlp {

struct PredictRequest {
  std::string model_path;
  std::string data_path;    // of images or of a table, as the model was trained on
  std::string output_path;  // "": standard output
  std::string label;        // column that is no feature; "": the one that the model was trained with
  int threads = 1;          // 0: as many as there are processors
  // What to write instead of predictions; at most one of them.
  bool probabilities = false;  // of each class
  bool logits = false;         // what the last layer gives, before softmax or logistic
};

// Writes CSV with a header and a row for each row of the data. Numbers are in the fewest digits that bring
// the same float back. Columns:
//   predictions: "prediction": the class (of text labels its text; the first of equals), or the value;
//   probabilities: "class_0", "class_1", ... or "class_<level>" each;
//   logits: "logit_0", "logit_1", ...
absl::Status Predict(const PredictRequest& request);

}  // namespace winnow::mlp
