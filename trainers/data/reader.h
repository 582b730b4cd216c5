#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/data/table_facts.h"

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
// options, NotFound, PermissionDenied, Unavailable (read error) or DataLoss (damaged gzip) for the file, and
// Aborted for one that was seen to change while it was read.
//
// Reads on up to `threads` threads; the result does not depend on them.
absl::StatusOr<DataSet> ReadDataSet(const std::string& path, const DataOptions& options,
                                    const DataSchema* like, int threads = 1);

// Of the same table the rows of the files that rank `rank` of `size` takes (ShardFiles), with first_row set.
// All ranks call it, each gets the same schema - levels are the union over ranks - and the parts together are
// what ReadDataSet gives. `exchange` is called the same number of times on all ranks unless one fails, whose
// others must then be told otherwise. InvalidArgument too if there are fewer files than ranks.
absl::StatusOr<DataSet> ReadShard(const std::string& path, const DataOptions& options, const DataSchema* like,
                                  int rank, int size, const Exchange& exchange, int threads = 1);

}  // namespace winnow
