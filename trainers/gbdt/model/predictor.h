#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace winnow::gbdt {

struct PredictRequest {
  std::string model_path;
  std::string data_path;
  std::string output_path;  // "": standard output
  std::string label;        // column that is not a feature; "": the label of training
  int64_t rounds = 0;       // use the model after this many rounds; 0: as it was trained
  int threads = 1;          // 0: as many as there are processors
  // Alternative outputs; at most one of them.
  bool margin = false;         // margins
  bool contributions = false;  // of each feature to the margins
  bool leaves = false;         // numbers of the rows' leaves
};

// Writes CSV with a header and a row per row of the data. Numbers have the fewest digits that restore the
// float. Columns:
//   predictions, margins: "prediction"; for several classes "class_0", "class_1", … or "class_<level>" each;
//   contributions: each feature's name, and "bias"; for several classes these for each, "class_0:<name>";
//   leaves: "tree_0", "tree_1", …
absl::Status Predict(const PredictRequest& request);

}  // namespace winnow::gbdt
