#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/data/file_source.h"

namespace winnow {

// CSV files as one sequence of records of equal width, without the header.
class CsvTable {
 public:
  // Detects separator and header in *first_file, which is used during the call only.
  static absl::StatusOr<CsvTable> Open(const SourceFile& first_file, const DataOptions& options,
                                       const DataSchema* like);

  bool has_header() const { return has_header_; }
  char separator() const { return separator_; }
  // The columns' names: from the header ("unnamed_3" if empty there), else PositionName()s.
  const std::vector<std::string>& names() const { return names_; }
  // Whether the header has no name for the column.
  bool unnamed(size_t column) const { return unnamed_[column]; }
  // Whether the column has a text in the first records.
  bool begins_with_text(size_t column) const { return text_[column]; }
  // The first file's path.
  const std::string& path() const { return path_; }

  // The start of a file's first record: its offset and the lines before it.
  struct Begin {
    size_t offset = 0;
    int64_t lines = 0;
  };
  // Returns the position after the header, if the file has one. InvalidArgument if the header differs from
  // the first file's. REQUIRES: `text` is the file's start, at least a line.
  absl::StatusOr<Begin> FindBegin(const SourceFile& text) const;

 private:
  CsvTable() = default;

  std::string path_;
  char separator_ = ',';
  bool has_header_ = false;
  bool header_repeats_ = false;  // every file must begin with the header
  std::vector<std::string> names_;
  std::vector<bool> unnamed_, text_;
};

// A separator's name for an error message.
std::string SeparatorName(char separator);

}  // namespace winnow
