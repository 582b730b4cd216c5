#pragma once

#include <cmath>
#include <string>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scratch_file.h"
#include "trainers/data/reader.h"

namespace winnow::fuzz {

inline void CheckTable(const DataSet& table) {
  const auto rows = static_cast<size_t>(table.rows);
  Require(table.rows > 0, "a table has rows");
  Require(table.columns.size() == table.feature_names.size(), "every feature has a name");
  Require(table.categorical.size() == table.columns.size(), "every feature has a kind");
  for (const auto& column : table.columns) Require(column.size() == rows, "columns are as long as the table");
  Require(table.label.empty() || table.label.size() == rows, "labels are as many as rows");
  if (!table.group_begin.empty()) {
    Require(table.group_begin.front() == 0 && table.group_begin.back() == table.rows, "groups are all rows");
    Require(std::is_sorted(table.group_begin.begin(), table.group_begin.end()), "groups are in order");
  }
  const size_t weights = table.group_begin.empty() ? rows : table.group_begin.size() - 1;
  Require(table.weight.empty() || table.weight.size() == weights, "weights are as many as rows or groups");
}

inline bool SameFloats(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

// Reads a table as training data, once more on several threads, and as data to predict.
inline void ReadTable(std::string_view text, const DataOptions& options, bool in_parallel) {
  static ScratchFile file;
  const std::string& path = file.Hold(text);
  const absl::StatusOr<DataSet> table = ReadDataSet(path, options, nullptr);
  if (!table.ok()) {
    Require(!table.status().message().empty(), "an error says what is wrong");
    return;
  }
  CheckTable(*table);
  if (in_parallel) {
    const absl::StatusOr<DataSet> same = ReadDataSet(path, options, nullptr, 2);
    Require(same.ok() && same->rows == table->rows && same->feature_names == table->feature_names &&
                SameFloats(same->label, table->label),
            "threads do not change the table");
    for (size_t i = 0; i < table->columns.size(); ++i)
      Require(SameFloats(same->columns[i], table->columns[i]), "threads do not change a column");
  }
  const absl::StatusOr<DataSet> predicted = ReadDataSet(path, options, &table->schema);
  if (!predicted.ok()) return;
  CheckTable(*predicted);
  Require(predicted->feature_names == table->feature_names,
          "data to predict have the training data's features");
}

}  // namespace winnow::fuzz
