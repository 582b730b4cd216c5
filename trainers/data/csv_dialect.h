#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainers/data/data_set.h"
#include "trainers/data/file_source.h"

namespace winnow {

// Returns the one of , ; tab | and blanks that separates the first lines most evenly; ',' if none does.
char DetectSeparator(const SourceFile& file);

using CsvRecord = std::vector<std::string>;

// Returns the file's first records, at most `limit`; ends early at a record that cannot be read.
std::vector<CsvRecord> SampleRecords(const SourceFile& file, char separator, size_t limit);

// Whether the first of `sample` contains column names: one of the columns named in `options` or `like`
// (nullable) is among them; or it has texts over columns of numbers; or, in a table of texts only, none of
// them occurs again below. Numbers among the names must count up from 0 or 1, as data frames number them.
bool LooksLikeHeader(const std::vector<CsvRecord>& sample, const DataOptions& options,
                     const DataSchema* like);

}  // namespace winnow
