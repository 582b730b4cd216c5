#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "worker/data/data_set.h"

namespace winnow {

// The table in `path`: a CSV or LIBSVM file, plain or gzip, or a folder of such files read in order of name
// as one table. docs/data-files.md says what is accepted.
//
// `like`, if not null, is the schema of the training data, and the result has exactly its features: columns
// are matched by name when both have a header and by position otherwise, columns it does not know are read
// over, and a text that is none of its levels becomes 0 in every one-hot column. With `like` the label may be
// absent (data to predict), and `label` is then empty; without, it must be there.
//
// Errors name the file and, where there is one, line and column: InvalidArgument for the content and the
// options, NotFound, PermissionDenied, Unavailable (read error) or DataLoss (damaged gzip) for the file.
absl::StatusOr<DataSet> ReadDataSet(const std::string& path, const DataOptions& options,
                                    const DataSchema* like);

}  // namespace winnow
