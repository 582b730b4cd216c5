#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace winnow::gbdt {

struct PredictRequest {
  std::string model_path;
  std::string data_path;
  std::string output_path;  // "": standard output
  std::string label;        // column that is no feature; "": the one that the model was trained with
  int64_t rounds = 0;       // use the model as it was after so many rounds; 0: as it was trained
  int threads = 1;          // 0: as many as there are processors
  // What to write instead of predictions; at most one of them.
  bool margin = false;         // margins
  bool contributions = false;  // of each feature to the margins
  bool leaves = false;         // numbers of the nodes that rows end in
};

// Writes CSV with a header and a row for each row of the data. Numbers are in the fewest digits that bring
// the same float back. Columns:
//   predictions, margins: "prediction"; of several classes "class_0", "class_1", … or "class_<level>" each;
//   contributions: each feature's name, and "bias"; of several classes this for each, "class_0:<name>";
//   leaves: "tree_0", "tree_1", …
absl::Status Predict(const PredictRequest& request);

}  // namespace winnow::gbdt
