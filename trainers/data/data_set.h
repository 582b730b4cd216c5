#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainers/data/sparse_column.h"

namespace winnow {

// How a file's columns become features. Errors of a reader name file, line and column.
struct DataOptions {
  std::string label;  // column name, or its number from 0 without a header; "" = first column
  // specified for the training data: labels beside IDX files take precedence
  bool label_is_of_training = false;
  std::vector<std::string> drop;   // columns to ignore
  std::string weight;              // column of row weights; "" = every row weighs 1
  std::string training_weight;     // the training data's; not a feature here either, if present
  std::string group;               // column of query ids, for ranking; "" = none, except LIBSVM's qid
  std::string format = "auto";     // "auto", "csv" or "libsvm"; auto examines name and first lines
  std::string header = "auto";     // "auto", "yes" or "no"
  std::string separator = "auto";  // "auto", "," ";" "\t" "|" or " "
  int max_levels = 256;            // a text column with more levels than this is an error that names it
  bool categorical = false;        // a text column is one feature of level numbers, not 0/1 columns
  // label, weight and group may be absent, and their values are not read: prediction needs none; of LIBSVM
  // the label must be there, so that an entry is not taken for it
  bool to_predict = false;
  bool label_must_be_there = false;  // all the same
};

// The form of training data, so that validation and prediction data are read in the same way.
struct ColumnSchema {
  std::string name;
  bool text = false;
  std::vector<std::string> levels;  // of a text column: sorted by byte order
  // of a text column: one feature of level numbers; otherwise each level is one feature
  bool categorical = false;
};
struct DataSchema {
  // Feature columns in file order, without label, weight, group and dropped ones.
  std::vector<ColumnSchema> columns;
  // For a text label: sorted; class i is label_levels[i]. Empty if numeric.
  std::vector<std::string> label_levels;
};

// Whether a reader may keep columns as SparseColumns: where they stay so, or also where this merely takes
// less memory (SparseColumn::dense_later).
enum class TableForm { kDense, kSparseWherePossible, kSparseWhereSmaller };

// A table in memory, column-major. A missing value is NaN. One-hot columns, "name_level", replace their text
// column. A categorical feature has the index of the level in the schema's levels; a level unknown to the
// training data is missing.
struct DataSet {
  int64_t rows = 0;
  std::vector<std::string> feature_names;
  std::vector<std::vector<float>> columns;  // [feature][row]; empty for a sparse feature
  std::vector<SparseColumn> sparse;         // [feature]; empty: no feature is sparse
  std::vector<float> label;                 // [row]; class index for a text label; empty if the file has none
  std::vector<float> weight;                // [row], or [group] for grouped data; or empty: all 1
  std::vector<bool> categorical;            // [feature]
  // For data with groups (queries, for ranking): group i is rows [group_begin[i], group_begin[i + 1]).
  // Otherwise empty.
  std::vector<int64_t> group_begin;
  int64_t first_row = 0;  // number of row 0 in the data of all ranks
  DataSchema schema;

  bool IsSparse(std::size_t feature) const { return feature < sparse.size() && sparse[feature].used; }
  bool StaysSparse(std::size_t feature) const { return IsSparse(feature) && !sparse[feature].dense_later; }
  float ValueAt(std::size_t feature, int64_t row) const {
    return IsSparse(feature) ? sparse[feature].ValueAt(row) : columns[feature][static_cast<std::size_t>(row)];
  }
};

}  // namespace winnow
