#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace winnow {

// How a file's columns become features. Errors of a reader name file, line and column.
struct DataOptions {
  std::string label;               // column name, or its number from 0 when there is no header; "" = first column
  std::vector<std::string> drop;   // columns that are read over
  std::string weight;              // column of row weights; "" = every row weighs 1
  std::string format = "auto";     // "auto", "csv" or "libsvm"; auto looks at the name, then at the first lines
  std::string header = "auto";     // "auto", "yes" or "no"
  std::string separator = "auto";  // "auto", "," ";" "\t" "|" or " "
  int max_levels = 256;            // a text column with more levels than this is refused by name
};

// What training data looked like, so that validation and prediction data are read the same way.
struct ColumnSchema {
  std::string name;
  bool text = false;
  std::vector<std::string> levels;  // of a text column: sorted by byte order, each one a feature "name_level"
};
struct DataSchema {
  std::vector<ColumnSchema> columns;      // feature columns in file order; label, weight and dropped ones are absent
  std::vector<std::string> label_levels;  // of a text label: sorted; class i is label_levels[i]. Empty if numeric
};

// A table in memory, column-major. A missing value is NaN. One-hot columns stand where their text column stood.
struct DataSet {
  int64_t rows = 0;
  std::vector<std::string> feature_names;
  std::vector<std::vector<float>> columns;  // [feature][row]
  std::vector<float> label;                 // [row]; class index for a text label; empty if the file has none
  std::vector<float> weight;                // [row], or empty: all 1
  DataSchema schema;
};

}  // namespace winnow
