// Tables of earlier results (warm start).

#include <set>

#include "server/reads/imports/csv_file.h"
#include "tests/fuzz/scratch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  static fuzz::ScratchFile file;
  const absl::StatusOr<ForeignFile> opened =
      ForeignFile::Open(file.Hold({reinterpret_cast<const char*>(data), size}));
  fuzz::Require(opened.ok(), "a regular file can be opened");
  const absl::StatusOr<CsvFile> table = ReadCsvFile(*opened, GoOnFor(std::chrono::minutes(1)));
  if (!table.ok()) return 0;
  const std::set<std::string> names(table->header.begin(), table->header.end());
  fuzz::Require(!names.empty() && names.size() == table->header.size(), "columns have names of their own");
  for (const auto& row : table->rows)
    fuzz::Require(row.size() == table->header.size(), "rows are as long as the header");
  return 0;
}
