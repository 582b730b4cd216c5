#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/data_set.h"
#include "worker/data/file_source.h"
#include "worker/data/part_reading.h"

namespace winnow {

// By the name (.libsvm, .svm, .svmlight, .gz after them or not), else by the first line: a number, then
// index:value pairs, at least one.
bool LooksLikeLibsvm(const SourceFile& file);

// Reads `files`, at least one, as one LIBSVM table: "label[:weight] [qid:ID] index:value … # comment" on each
// line. Features are named "f<index>" with the index as written and count from 0 if that index occurs, else
// from 1, up to the largest. An entry that is absent is missing (NaN). With `like`, features it does not have
// are read over.
absl::StatusOr<DataSet> ReadLibsvm(const std::vector<SourceFile>& files, const PartReading& reading);

}  // namespace winnow
