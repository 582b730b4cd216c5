#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace winnow {

// How a file's columns become features. Errors of a reader name file, line and column.
struct DataOptions {
  std::string label;               // column name, or its number from 0 without a header; "" = first column
  bool label_is_of_training = false;  // said of the training data: labels of their own, beside IDX files, go before
  std::vector<std::string> drop;   // columns that are read over
  std::string weight;              // column of row weights; "" = every row weighs 1
  std::string training_weight;     // that of the training data alone: no feature here either, if it is there
  std::string group;               // column of query ids, for ranking; "" = none, but LIBSVM's qid
  std::string format = "auto";     // "auto", "csv" or "libsvm"; auto looks at name and first lines
  std::string header = "auto";     // "auto", "yes" or "no"
  std::string separator = "auto";  // "auto", "," ";" "\t" "|" or " "
  int max_levels = 256;            // a text column with more levels than this is refused by name
  bool categorical = false;        // a text column is one feature of level numbers, not 0/1 columns
};

// What training data looked like, so that validation and prediction data are read the same way.
struct ColumnSchema {
  std::string name;
  bool text = false;
  std::vector<std::string> levels;  // of a text column: sorted by byte order
  bool categorical = false;         // of a text column: one feature of level numbers; else each level is one
};
struct DataSchema {
  // Feature columns in file order; label, weight, group and dropped ones are absent.
  std::vector<ColumnSchema> columns;
  // Of a text label: sorted; class i is label_levels[i]. Empty if numeric.
  std::vector<std::string> label_levels;
};

// A table in memory, column-major. A missing value is NaN. One-hot columns, "name_level", stand where their
// text column stood. A categorical feature holds the level's position in the schema's levels; a level that
// the training data did not have is missing.
struct DataSet {
  int64_t rows = 0;
  std::vector<std::string> feature_names;
  std::vector<std::vector<float>> columns;  // [feature][row]
  std::vector<float> label;                 // [row]; class index for a text label; empty if the file has none
  std::vector<float> weight;                // [row], of grouped data [group]; or empty: all 1
  std::vector<bool> categorical;            // [feature]
  // Of data with groups (queries, for ranking): group i is rows [group_begin[i], group_begin[i + 1]). Empty
  // without.
  std::vector<int64_t> group_begin;
  int64_t first_row = 0;  // number of row 0 in the data of all ranks
  DataSchema schema;
};

}  // namespace winnow
