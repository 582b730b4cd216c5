#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/data/file_source.h"
#include "trainers/data/part_reading.h"

namespace winnow {

// Reads the files `paths`, at least one, as one CSV table, or as one rank's part of it. `head` is the table's
// first file, or its first lines. If it has a header, the others have the same one or none. Options, `like`
// and errors as in ReadDataSet. REQUIRES: the options' values were checked.
absl::StatusOr<DataSet> ReadCsv(const std::vector<std::string>& paths, const SourceFile& head,
                                const PartReading& reading);

}  // namespace winnow
