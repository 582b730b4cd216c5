#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainers/data/data_set.h"
#include "trainers/data/file_source.h"

namespace winnow {

// The one of , ; tab | and blanks that parts the file's first lines most evenly; ',' if none parts them.
char DetectSeparator(const SourceFile& file);

using CsvRecord = std::vector<std::string>;

// The file's first records, at most `limit`; it ends early at a record that cannot be read.
std::vector<CsvRecord> SampleRecords(const SourceFile& file, char separator, size_t limit);

// Whether the first of `sample` holds column names: it does if one of the columns named in `options` or
// `like` (nullable) is among them; else if it holds texts over columns of numbers; else, in a table of texts
// only, if none of them comes again below. Numbers among the names must count up from 0 or 1, as data frames
// number theirs.
bool LooksLikeHeader(const std::vector<CsvRecord>& sample, const DataOptions& options,
                     const DataSchema* like);

}  // namespace winnow
