#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/column_facts.h"
#include "trainers/data/csv_cells.h"
#include "trainers/data/csv_table.h"
#include "trainers/data/groups.h"

namespace winnow {

// The cells of a table's wanted columns, chunk by chunk in order.
class CsvParse {
 public:
  // Reads the files on up to `threads` threads, a window at a time. InvalidArgument, with file and line, for
  // the first error in the text; errors as of TextStream for a file.
  static absl::StatusOr<CsvParse> Of(const CsvTable& table, const std::vector<std::string>& paths,
                                     CsvLayout layout, int threads);

  const CsvLayout& layout() const { return layout_; }
  int64_t rows() const { return rows_; }
  ColumnFacts Facts(size_t slot) const;
  // Whether the slot has a number above 0.
  bool HasPositive(size_t slot) const;
  std::vector<GroupStart> Groups() const;

  // For a slot kept as text: the distinct texts, sorted by byte order.
  std::vector<std::string> Levels(size_t slot) const;
  // For a slot kept as text: [row], the text's index in `levels` (sorted), kMissingLevel or kUnknownLevel.
  std::vector<int32_t> RowLevels(size_t slot, const std::vector<std::string>& levels) const;
  static constexpr int32_t kMissingLevel = -1, kUnknownLevel = -2;
  // For a slot kept as text: the place and the text of the first row that has none of `levels`. REQUIRES:
  // there is one.
  std::pair<std::string, std::string> FirstUnknown(size_t slot, const std::vector<std::string>& levels) const;

  // Moves the numbers of all numeric slots to [slot][row]; other slots stay empty.
  std::vector<std::vector<float>> TakeNumbers(int threads);

 private:
  struct Part {
    const std::string* path = nullptr;
    int64_t first_row = 0, lines_before = 0;  // in the table; in the file
    std::unique_ptr<CsvCells> cells;
  };
  absl::Status AddFile(const CsvTable& table, const std::string& path, int threads);
  absl::Status AddChunks(const std::vector<CsvChunk>& chunks, const std::string& path, int64_t* lines,
                         int threads);
  static CellPlace Place(const Part& part, int64_t line) { return {part.path, part.lines_before + line}; }

  CsvLayout layout_;
  std::vector<std::string> paths_;
  std::vector<Part> parts_;
  int64_t rows_ = 0;
};

}  // namespace winnow
