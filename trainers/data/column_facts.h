#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"

namespace winnow {

// Statistics of a column's cells; also of several parts of a table together.
struct ColumnFacts {
  std::string name;
  int64_t numbers = 0, texts = 0, missing = 0;  // infinite ones are numbers
  // The first text and the first infinite number as written, and their places, "FILE:LINE"; "" if none.
  std::string first_text, first_text_place;
  std::string first_infinite, first_infinite_place;

  // Adds the facts of a later part.
  void Merge(const ColumnFacts& later);

  // InvalidArgument "PLACE: column "NAME": WHAT".
  absl::Status Error(const std::string& place, const std::string& what) const;
};

// Decides whether it is a column of texts: one value is not a number. InvalidArgument if it looks like a
// column of numbers with a few broken cells (at least 99 % are numbers), or has an infinite value.
absl::StatusOr<bool> DecideIsText(const ColumnFacts& column);

// Used instead if the training data has decided: an error if the cells are not of that kind.
absl::Status CheckIsText(const ColumnFacts& column, bool is_text);

// Returns an error with advice if the levels of a column of texts are numbers with commas, or more
// than options.max_levels.
absl::Status CheckLevels(const ColumnFacts& column, const std::vector<std::string>& levels,
                         const DataOptions& options);

}  // namespace winnow
