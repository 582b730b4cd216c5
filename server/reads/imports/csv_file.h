#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/foreign_file.h"

namespace winnow {

// A table with a header, as in RFC 4180; blanks around fields and empty lines are ignored.
struct CsvFile {
  std::vector<std::string> header;             // all different
  std::vector<std::vector<std::string>> rows;  // each as long as the header
};

// INVALID_ARGUMENT gives the error and its row, without the file's name and without quoting its content: it
// exceeds 64 MiB or 2,000,000 fields, has no header, a column occurs twice, a row has another length, a
// quotation is not closed. Otherwise the status of `go_on`.
absl::StatusOr<CsvFile> ReadCsvFile(const ForeignFile& file, const GoOn& go_on);

}  // namespace winnow
