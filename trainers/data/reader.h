#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/data/table_facts.h"

namespace winnow {

// Reads the table in `path`: a CSV or LIBSVM file, plain or gzip, or a folder of such files in order of name
// as one table. docs/data-files.md says what is accepted.
//
// `like`, if not null, is the schema of the training data, and the result has exactly its features: columns
// are matched by name if both have a header and by position otherwise; unknown columns are ignored; a text
// that is none of its levels becomes 0 in every one-hot column. With `like` the label may be absent (data to
// predict), and `label` is then empty; without `like` it is required.
//
// Errors name the file and, if there is one, line and column: InvalidArgument for the content and the
// options, NotFound, PermissionDenied, Unavailable (read error) or DataLoss (damaged gzip) for the file, and
// Aborted if it was seen to change while it was read.
//
// Reads on up to `threads` threads, which do not affect the result. With kSparseWherePossible, columns that
// are nearly empty are DataSet::sparse if there are many of them (kManySparseColumns); with
// kSparseWhereSmaller all one-hot columns of a text column of 16 levels or more, if few of its texts are
// missing.
absl::StatusOr<DataSet> ReadDataSet(const std::string& path, const DataOptions& options,
                                    const DataSchema* like, int threads = 1,
                                    TableForm form = TableForm::kDense);

// Reads the rows of the table's files that rank `rank` of `size` takes (ShardFiles), with first_row set. All
// ranks call it and get the same schema (levels are the union over ranks); the parts together are the result
// of ReadDataSet. `exchange` is called equally often on all ranks unless one fails; then the others must be
// informed in another way. InvalidArgument also if there are fewer files than ranks.
absl::StatusOr<DataSet> ReadShard(const std::string& path, const DataOptions& options, const DataSchema* like,
                                  int rank, int size, const Exchange& exchange, int threads = 1,
                                  TableForm form = TableForm::kDense);

}  // namespace winnow
