#include "trainers/data/csv_cells.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "fmt/format.h"
#include "trainers/data/csv_table.h"

namespace winnow {
namespace {

constexpr size_t kNone = std::string_view::npos;

// Finds line ends outside quoted fields, front to back.
class BorderFinder {
 public:
  BorderFinder(std::string_view text, char separator, size_t begin)
      : text_(text), separator_(separator), begin_(begin), outside_(begin), quote_(text.find('"', begin)) {}

  // Returns the first position at or after `from` that follows such a line end; kNone if there is none.
  size_t Next(size_t from) {
    while (quote_ < from) PassQuote();
    for (;;) {
      const size_t next = AfterLineEnd(std::max(from, outside_));
      if (next == kNone || next <= quote_) return next;
      PassQuote();
    }
  }

 private:
  // A lone CR counts where no LF follows in the text.
  size_t AfterLineEnd(size_t from) const {
    if (const size_t at = text_.find('\n', from); at != kNone) return at + 1;
    const size_t at = text_.find('\r', from);
    return at == kNone || at + 1 >= text_.size() || text_[at + 1] == '\n' ? kNone : at + 1;
  }

  void PassQuote() {
    size_t end = quote_ + 1;
    if (OpensField(quote_)) {
      for (;; end += 2) {  // skips doubled ones
        end = text_.find('"', end);
        if (end == kNone || text_.substr(end + 1, 1) != "\"") break;
      }
      outside_ = end = end == kNone ? text_.size() : end + 1;
    }
    quote_ = text_.find('"', end);
  }

  bool IsSeparator(char c) const { return c == separator_ || (separator_ == ' ' && c == '\t'); }

  bool OpensField(size_t quote) const {
    size_t at = quote;
    while (at > begin_ && (text_[at - 1] == ' ' || text_[at - 1] == '\t') && !IsSeparator(text_[at - 1]))
      --at;
    return at == begin_ || IsSeparator(text_[at - 1]) || text_[at - 1] == '\n' || text_[at - 1] == '\r';
  }

  const std::string_view text_;
  const char separator_;
  const size_t begin_;
  size_t outside_;  // everything before is scanned, and this is outside quoted fields
  size_t quote_;    // the first quotation mark not scanned yet
};

constexpr size_t kNotWanted = std::numeric_limits<size_t>::max();

}  // namespace

std::vector<CsvChunk> CutIntoChunks(const SourceFile& text, char separator, size_t begin, bool at_end,
                                    size_t chunk_bytes) {
  const size_t size = text.bytes.size();
  BorderFinder borders(text.bytes, separator, begin);
  std::vector<CsvChunk> chunks;
  while (begin < size) {
    const size_t border = begin + chunk_bytes < size ? borders.Next(begin + chunk_bytes) : kNone;
    if (border == kNone && !at_end) break;
    chunks.push_back({&text, begin, std::min(border, size)});
    begin = chunks.back().end;
  }
  return chunks;
}

CsvCells::CsvCells(const CsvChunk& chunk, const CsvLayout& layout)
    : slots_(layout.slots.size()), dictionaries_(layout.slots.size()) {
  std::vector<size_t> slot_at(layout.width, kNotWanted);  // [position]
  for (size_t i = 0; i < layout.slots.size(); ++i) slot_at[layout.slots[i].position] = i;
  CsvCursor cursor(*chunk.file, layout.separator, chunk.begin, chunk.end);
  while (cursor.NextRecord()) {
    const auto row = static_cast<size_t>(rows_);
    if (row == capacity_) {
      // Reserves for the rest at the rate so far, and a tenth more.
      const double share =
          static_cast<double>(cursor.offset() - chunk.begin) / static_cast<double>(chunk.end - chunk.begin);
      const double expected = row == 0 ? 0 : 1.1 * static_cast<double>(row) / share;
      if (!Reserve(std::max(row + row / 2 + 64, static_cast<size_t>(expected)))) {
        error_ = LineError{cursor.record_line(), "there is no memory for the rows from here on"};
        return;
      }
    }
    size_t position = 0;
    do {
      const size_t index = position < slot_at.size() ? slot_at[position] : kNotWanted;
      ++position;
      if (index == kNotWanted) {
        cursor.TakeField();
        continue;
      }
      const CsvSlot& slot = layout.slots[index];
      if (slot.role != CsvSlot::kFeature || slot.as_text ||
          !cursor.TakeNumber(&values()[index * capacity_ + row]))
        TakeCell(&cursor, slot, index);
    } while (cursor.NextField());
    if (cursor.error()) break;
    if (position != layout.width) {
      error_ = LineError{
          cursor.record_line(),
          fmt::format("{} fields found, expected {} as in the first line{} (fields are separated by {})",
                      position, layout.width,
                      chunk.file->path == layout.first_path ? "" : " of " + layout.first_path,
                      SeparatorName(layout.separator))};
      break;
    }
    if (!role_error_.empty()) {
      error_ = LineError{cursor.record_line(), role_error_};
      break;
    }
    ++rows_;
  }
  if (cursor.error()) error_ = cursor.error();
  lines_ = cursor.line() - 1;
  dictionaries_.clear();
}

bool CsvCells::Reserve(size_t rows) {
  absl::StatusOr<Mapping> memory = Mapping::OfMemory(rows * slots_.size() * sizeof(float));
  if (!memory.ok()) return false;
  float* const to = reinterpret_cast<float*>(memory->bytes().data());
  for (size_t slot = 0; slot < slots_.size() && rows_ > 0; ++slot)
    std::copy_n(values() + slot * capacity_, rows_, to + slot * rows);
  memory_ = *std::move(memory);
  capacity_ = rows;
  return true;
}

void CsvCells::TakeCell(CsvCursor* cursor, const CsvSlot& slot, size_t index) {
  float* const value = &values()[index * capacity_ + static_cast<size_t>(rows_)];
  const int64_t line = cursor->record_line();
  if (!slot.as_text && slot.role != CsvSlot::kGroup && cursor->TakeNumber(value)) {
    CheckRole(slot.role, CellKind::kNumber, *value, "", slot.name);
    return;
  }
  const std::string_view cell = cursor->TakeField();
  if (cursor->error()) return;
  if (slot.role == CsvSlot::kGroup) {
    const bool missing = IsMissingCell(cell);
    CheckRole(slot.role, missing ? CellKind::kMissing : CellKind::kText, 0, cell, slot.name);
    if (!missing && (groups_.empty() || groups_.back().id != cell))
      groups_.push_back({std::string(cell), rows_, line});
    return;
  }
  const CellKind kind = slot.as_text ? TakeText(cell, line, index) : ParseCell(cell, value);
  NoteKind(kind, cell, line, index);
  CheckRole(slot.role, kind, slot.as_text ? 0 : *value, cell, slot.name);
}

CellKind CsvCells::TakeText(std::string_view cell, int64_t line, size_t index) {
  CsvSlotCells& cells = slots_[index];
  auto known = dictionaries_[index].find(cell);
  if (known == dictionaries_[index].end()) {
    float ignored;
    TextCode code;
    code.kind = ParseCell(cell, &ignored);
    if (code.kind != CellKind::kMissing) {
      code.code = static_cast<int32_t>(cells.levels.size());
      cells.levels.push_back(ToUtf8(cell));
      cells.level_lines.push_back(line);
    }
    known = dictionaries_[index].emplace(cell, code).first;
  }
  cells.codes.push_back(known->second.code);
  return known->second.kind;
}

void CsvCells::NoteKind(CellKind kind, std::string_view cell, int64_t line, size_t index) {
  CsvSlotCells& cells = slots_[index];
  if (kind == CellKind::kMissing) {
    ++cells.missing;
  } else if (kind == CellKind::kText && cells.texts++ == 0) {
    cells.first_text = cell;
    cells.first_text_line = line;
  } else if (kind == CellKind::kInfinite && cells.infinite++ == 0) {
    cells.first_infinite = cell;
    cells.first_infinite_line = line;
  }
}

void CsvCells::CheckRole(CsvSlot::Role role, CellKind kind, float value, std::string_view cell,
                         const std::string& name) {
  std::string what;
  if (role == CsvSlot::kLabel && kind == CellKind::kMissing) {
    what = fmt::format("the label is missing (\"{}\"); expected one in every row", Excerpt(cell));
  } else if (role == CsvSlot::kWeight && (kind != CellKind::kNumber || std::signbit(value))) {
    what = fmt::format("the weight is \"{}\"; expected a number of 0 or more",
                       cell.empty() && kind == CellKind::kNumber ? fmt::format("{}", value) : Excerpt(cell));
  } else if (role == CsvSlot::kGroup && kind == CellKind::kMissing) {
    what = "the query id is missing; expected one in every row";
  }
  if (what.empty() || (!role_error_.empty() && role_of_error_ < role)) return;
  role_error_ = fmt::format("column \"{}\": {}", Excerpt(name), what);
  role_of_error_ = role;
}

}  // namespace winnow
