#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trainers/data/cache/mapped_file.h"
#include "trainers/data/cell.h"
#include "trainers/data/csv_cursor.h"
#include "trainers/data/file_source.h"

namespace winnow {

// A sequence of complete records of one text.
struct CsvChunk {
  const SourceFile* file = nullptr;
  size_t begin = 0, end = 0;  // the bytes in which its records begin
  // For the file's first chunk: the lines before it. Other chunks follow their predecessor.
  int64_t lines_before = 0;
};

// Size of a chunk without longer records: enough work for one thread, and it fits a processor's cache.
constexpr size_t kChunkBytes = 1 << 20;

// Cuts the records from `begin`, the start of one, to the end of the text. Line ends inside quoted fields do
// not separate; from a syntax error on, the rest of that record is in the chunk where it begins. The cuts
// depend on the text alone. Unless `at_end`, the text continues, and what follows the last cut is left out.
std::vector<CsvChunk> CutIntoChunks(const SourceFile& text, char separator, size_t begin, bool at_end,
                                    size_t chunk_bytes = kChunkBytes);

// A wanted column.
struct CsvSlot {
  std::string name;
  size_t position = 0;  // in the file
  enum Role { kFeature, kLabel, kWeight, kGroup } role = kFeature;
  bool as_text = false;  // cells are kept as numbered texts, not as numbers
};

struct CsvLayout {
  char separator = ',';
  size_t width = 0;            // fields of every record
  std::string first_path;      // of the file that determines it
  std::vector<CsvSlot> slots;  // each position at most once
};

// The cells of one column in one chunk.
struct CsvSlotCells {
  int64_t missing = 0, texts = 0, infinite = 0;  // cells of that kind; the others are numbers
  // The first text and the first infinite number, as written, and their lines, from 1 in the chunk.
  std::string first_text, first_infinite;
  int64_t first_text_line = 0, first_infinite_line = 0;

  // For a column kept as text: the text of each row's code, as UTF-8, in order of appearance, and its first
  // place. Missing cells have the code kMissing.
  static constexpr int32_t kMissing = -1;
  std::vector<std::string> levels;
  std::vector<int64_t> level_lines;
  std::vector<int32_t> codes;  // [row]
};

// The wanted columns of one chunk.
class CsvCells {
 public:
  // Reads the chunk up to its end or first error.
  CsvCells(const CsvChunk& chunk, const CsvLayout& layout);

  int64_t rows() const { return rows_; }
  // Line ends in the chunk.
  int64_t lines() const { return lines_; }
  const std::optional<LineError>& error() const { return error_; }
  // [slot of the layout]
  const std::vector<CsvSlotCells>& slots() const { return slots_; }
  // [row], NaN where there is no number. REQUIRES: the slot's column is kept as numbers.
  const float* numbers(size_t slot) const { return values() + slot * capacity_; }

  void DropNumbers() { memory_ = Mapping(); }

  struct Group {
    std::string id;
    int64_t row = 0, line = 0;  // in the chunk
  };
  // Rows whose query id differs from that of the previous row in the chunk.
  const std::vector<Group>& groups() const { return groups_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct TextCode {
    int32_t code = CsvSlotCells::kMissing;
    CellKind kind = CellKind::kMissing;
  };
  using Dictionary = std::unordered_map<std::string, TextCode, Hash, std::equal_to<>>;

  float* values() const { return reinterpret_cast<float*>(memory_.bytes().data()); }
  bool Reserve(size_t rows);
  void TakeCell(CsvCursor* cursor, const CsvSlot& slot, size_t index);
  CellKind TakeText(std::string_view cell, int64_t line, size_t index);
  void NoteKind(CellKind kind, std::string_view cell, int64_t line, size_t index);
  void CheckRole(CsvSlot::Role role, CellKind kind, float value, std::string_view cell,
                 const std::string& name);

  int64_t rows_ = 0, lines_ = 0;
  size_t capacity_ = 0;  // rows for which there is memory
  Mapping memory_;       // of the floats [slot][row]; mmap, because the heap would keep freed memory
  std::vector<CsvSlotCells> slots_;
  std::vector<Dictionary> dictionaries_;  // [slot]
  std::vector<Group> groups_;
  std::optional<LineError> error_;
  // For the current record: the error in its label, weight or group, in this order.
  std::string role_error_;
  CsvSlot::Role role_of_error_ = CsvSlot::kGroup;
};

}  // namespace winnow
