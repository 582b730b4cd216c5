#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// A table with a header, as RFC 4180 has it; blanks round a field and empty lines do not count.
struct CsvFile {
  std::vector<std::string> header;             // all different
  std::vector<std::vector<std::string>> rows;  // each as long as the header
};

// INVALID_ARGUMENT says what is wrong and in which row, without the file's name: it cannot be read, it is
// over 64 MiB, it has no header, a column stands twice, a row has another length, a quotation does not end.
absl::StatusOr<CsvFile> ReadCsvFile(const std::string& file);

}  // namespace winnow
