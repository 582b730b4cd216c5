#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/search/families.h"

namespace winnow {

// Recorded curves as a family: a configuration has the curve of the table's nearest row (Euclidean distance
// in the unit cube), exactly as recorded and without noise. The optimum is the greatest value in the table.
//
// The file is CSV, separated by commas, with a header. Columns: one per hyperparameter,
// "NAME:integer:MIN:MAX" or "NAME:continuous:MIN:MAX", followed by ":log" for log scaling; then
// "seconds_per_round", which is ignored; then the values at levels "1", "2", ... R. kNotFound: no such file.
// kInvalidArgument: names the line and what was expected.
absl::StatusOr<std::unique_ptr<Family>> ReadCurveTable(const std::string& path);

}  // namespace winnow
