#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/data_set.h"
#include "worker/data/file_source.h"

namespace winnow {

// Reads `files`, at least one, as one CSV table. Where the first has a header, the others have the same one
// or none. Options, `like` and errors as in ReadDataSet. REQUIRES: the options' values were checked.
absl::StatusOr<DataSet> ReadCsv(const std::vector<SourceFile>& files, const DataOptions& options,
                                const DataSchema* like);

}  // namespace winnow
