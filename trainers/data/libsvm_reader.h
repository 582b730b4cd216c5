#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/data/file_source.h"
#include "trainers/data/part_reading.h"

namespace winnow {

// Whether a file, given at least its first lines, is LIBSVM: by the name (.libsvm, .svm, .svmlight,
// optionally with .gz), else by the first line: a number, then one or more index:value pairs.
bool LooksLikeLibsvm(const SourceFile& file);

// Reads the files `paths`, at least one, as one LIBSVM table, or as one rank's part of it: "label[:weight]
// [qid:ID] index:value … # comment" on each line. Features are named "f<index>" with the index as written.
// They count from 0 if that index occurs, else from 1, up to the largest. An absent entry is missing (NaN).
// With `like`, features unknown to it are ignored.
absl::StatusOr<DataSet> ReadLibsvm(const std::vector<std::string>& paths, const PartReading& reading);

}  // namespace winnow
