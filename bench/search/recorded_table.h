#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/search/families.h"

namespace winnow {

enum class TablePlay {
  kNearest,  // a configuration has the curve of the nearest row, exactly as recorded
  kSmooth,   // the mean of the nearest rows' curves, weighted by distance: a landscape without cliffs
};

// A row: its place in the unit cube, and a value per level, to be maximised.
struct RecordedRow {
  std::vector<double> at;
  std::vector<double> curve;
  double seconds = 1;  // of a level
};

// Recorded curves of other people's experiments as a family. The file is text, also gzip:
//
//     maximize|minimize rows|grid LEVELS PARAMETERS ROWS [timed]
//     NAME int|float LEAST GREATEST lin|log      one line per hyperparameter; or
//     NAME disc NUMBER...                        played as an integer, the index of the number; or
//     NAME cat WORD...
//     rows: a line per row, the hyperparameters (the index of a cat's word), then a value per level
//     grid: a line per combination, the last hyperparameter fastest, with its values
//     timed: the seconds that a level took come before the values of a line
//
// A value may be "nan". Distances are Euclidean in the unit cube; different categories are 1 apart. A table
// to minimise is negated. The optimum is the greatest finite value of any configuration: of a row, and where
// rows are averaged the greatest at a row's own configuration. kNotFound: no such file. kInvalidArgument:
// names the line and what was expected.
absl::StatusOr<std::unique_ptr<Family>> ReadRecordedTable(const std::string& path, TablePlay play);
// The rows of such a family.
const std::vector<RecordedRow>& RecordedRows(const Family& table);

}  // namespace winnow
