#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/foreign_file.h"

namespace winnow {

// A table with a header, as RFC 4180 has it; blanks round a field and empty lines do not count.
struct CsvFile {
  std::vector<std::string> header;             // all different
  std::vector<std::vector<std::string>> rows;  // each as long as the header
};

// INVALID_ARGUMENT says what is wrong and in which row, without the file's name and without a word of what is in it: it
// is over 64 MiB or 2,000,000 fields, it has no header, a column stands twice, a row has another length, a quotation
// does not end. Also what `go_on` says.
absl::StatusOr<CsvFile> ReadCsvFile(const ForeignFile& file, const GoOn& go_on);

}  // namespace winnow
