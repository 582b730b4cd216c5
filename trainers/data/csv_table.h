#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"
#include "trainers/data/file_source.h"

namespace winnow {

// CSV files as one sequence of records of the same width, the header apart.
class CsvTable {
 public:
  // Finds separator and header. REQUIRES: *first_file, where they are found, outlives this call only.
  static absl::StatusOr<CsvTable> Open(const SourceFile& first_file, const DataOptions& options,
                                       const DataSchema* like);

  bool has_header() const { return has_header_; }
  char separator() const { return separator_; }
  // The columns' names: of the header ("unnamed_3" where it says nothing), else PositionName()s.
  const std::vector<std::string>& names() const { return names_; }
  // Whether the header leaves the column without a name.
  bool unnamed(size_t column) const { return unnamed_[column]; }
  // Whether the column holds a text in the first records.
  bool begins_with_text(size_t column) const { return text_[column]; }
  // Of the first file.
  const std::string& path() const { return path_; }

  // Where the first record of a file stands: its offset and the lines before it.
  struct Begin {
    size_t offset = 0;
    int64_t lines = 0;
  };
  // Behind the header, if the file has one. InvalidArgument for a header that is another one than the first
  // file's. REQUIRES: `text` is the file's begin, a line at least.
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
