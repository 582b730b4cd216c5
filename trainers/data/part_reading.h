#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/data/file_source.h"
#include "trainers/data/table_facts.h"

// The readers of each format.
namespace winnow {

// How to read a table that may be one of several parts.
struct PartReading {
  const DataOptions& options;
  const DataSchema* like = nullptr;  // as in ReadDataSet
  int threads = 1;
  std::string path;  // the path that the user named
  int rank = 0;
  Exchange exchange = ExchangeAlone;
  TableForm form = TableForm::kDense;
};

// Reads the files `paths`, at least one, as one CSV table, or as one rank's part of it. `head` is the table's
// first file, or its first lines. If it has a header, the others have the same one or none. Options, `like`
// and errors as in ReadDataSet. REQUIRES: the options' values were checked.
absl::StatusOr<DataSet> ReadCsv(const std::vector<std::string>& paths, const SourceFile& head,
                                const PartReading& reading);

// Whether a file, given at least its first lines, is LIBSVM: by the name (.libsvm, .svm, .svmlight,
// optionally with .gz), else by the first line: a number, then one or more index:value pairs.
bool LooksLikeLibsvm(const SourceFile& file);

// Reads the files `paths`, at least one, as one LIBSVM table, or as one rank's part of it: "label[:weight]
// [qid:ID] index:value … # comment" on each line. Features are named "f<index>" with the index as written.
// They count from 0 if that index occurs, else from 1, up to the largest. An absent entry is missing (NaN).
// With `like`, features unknown to it are ignored.
absl::StatusOr<DataSet> ReadLibsvm(const std::vector<std::string>& paths, const PartReading& reading);

}  // namespace winnow
