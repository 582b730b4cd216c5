#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/data_set.h"
#include "worker/data/file_source.h"

namespace winnow {

// CSV files as one sequence of records of the same width, the header apart.
class CsvTable {
 public:
  // Finds separator and header. REQUIRES: *files outlives the table.
  static absl::StatusOr<CsvTable> Open(const std::vector<SourceFile>* files, const DataOptions& options,
                                       const DataSchema* like);

  bool has_header() const { return has_header_; }
  // The columns' names: of the header ("unnamed_3" where it says nothing), else PositionName()s.
  const std::vector<std::string>& names() const { return names_; }
  // Whether the header leaves the column without a name.
  bool unnamed(size_t column) const { return unnamed_[column]; }
  const std::string& path() const { return files_->front().path; }

  using RecordFn = std::function<absl::Status(CellPlace place, const std::vector<std::string_view>& fields)>;
  // Calls `fn` for every record in order, until it returns an error; returns that, or the first error of the
  // text itself, such as a record that is not as wide as the first.
  absl::Status ForEachRecord(const RecordFn& fn) const;

 private:
  CsvTable() = default;

  const std::vector<SourceFile>* files_ = nullptr;
  char separator_ = ',';
  bool has_header_ = false;
  bool header_repeats_ = false;  // every file must begin with the header
  std::vector<std::string> names_;
  std::vector<bool> unnamed_;
};

}  // namespace winnow
