#include "trainers/data/csv_parse.h"

#include <algorithm>
#include <atomic>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/csv_cursor.h"
#include "trainers/data/parallel.h"
#include "trainers/data/text_stream.h"

namespace winnow {
namespace {

// The window, for each thread: so large that its borders, where threads wait for each other, are rare.
constexpr size_t kChunksOfWindow = 8;

// The line, from 1 at `begin`, in which the last record of the text begins.
int64_t LineOfLastRecord(const SourceFile& text, char separator, size_t begin) {
  CsvCursor cursor(text, separator, begin);
  while (cursor.NextRecord()) {
    do {
      cursor.TakeField();
    } while (cursor.NextField());
  }
  return cursor.error() ? cursor.error()->line : cursor.record_line();
}

std::string Text(const CellPlace& place) { return fmt::format("{}:{}", *place.path, place.line); }

}  // namespace

absl::StatusOr<CsvParse> CsvParse::Of(const CsvTable& table, const std::vector<std::string>& paths,
                                      CsvLayout layout, int threads) {
  CsvParse parse;
  parse.layout_ = std::move(layout);
  parse.paths_ = paths;
  for (const std::string& path : parse.paths_) {
    if (absl::Status status = parse.AddFile(table, path, threads); !status.ok()) return status;
  }
  return parse;
}

absl::Status CsvParse::AddFile(const CsvTable& table, const std::string& path, int threads) {
  const size_t window_bytes =
      std::min(kChunksOfWindow * kChunkBytes * static_cast<size_t>(std::max(threads, 1)), kLongestRecord);
  absl::StatusOr<TextStream> stream = TextStream::Open(path, window_bytes, threads);
  if (!stream.ok()) return stream.status();
  const absl::StatusOr<CsvTable::Begin> begin = table.FindBegin(stream->window());
  if (!begin.ok()) return begin.status();
  size_t offset = begin->offset;
  int64_t lines = begin->lines;
  for (;;) {
    const std::vector<CsvChunk> chunks =
        CutIntoChunks(stream->window(), layout_.separator, offset, stream->at_end());
    if (absl::Status status = AddChunks(chunks, path, &lines, threads); !status.ok()) return status;
    if (stream->at_end()) return absl::OkStatus();
    // A record longer than the window needs a longer one.
    if (chunks.empty() && stream->window().bytes.size() >= kLongestRecord)
      return RecordTooLong(path, lines + LineOfLastRecord(stream->window(), layout_.separator, offset));
    const absl::Status status = chunks.empty() ? stream->Grow() : stream->Advance(chunks.back().end);
    if (!status.ok()) return status;
    if (!chunks.empty()) offset = 0;
  }
}

// *lines: in, the lines before the chunks; out, those before the text that follows them.
absl::Status CsvParse::AddChunks(const std::vector<CsvChunk>& chunks, const std::string& path, int64_t* lines,
                                 int threads) {
  const size_t before = parts_.size();
  parts_.resize(before + chunks.size());
  std::atomic<size_t> first_error{chunks.size()};  // chunks after an error need not be read
  ParallelFor(threads, chunks.size(), [&](size_t i) {
    if (i > first_error) return;
    std::unique_ptr<CsvCells>& cells = parts_[before + i].cells;
    cells = std::make_unique<CsvCells>(chunks[i], layout_);
    if (!cells->error()) return;
    for (size_t known = first_error; i < known && !first_error.compare_exchange_weak(known, i);) continue;
  });
  for (size_t i = before; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    part.path = &path;
    part.lines_before = *lines;
    part.first_row = rows_;
    if (const std::optional<LineError>& error = part.cells->error())
      return absl::InvalidArgumentError(fmt::format("{}: {}", Text(Place(part, error->line)), error->what));
    *lines += part.cells->lines();
    rows_ += part.cells->rows();
  }
  return absl::OkStatus();
}

ColumnFacts CsvParse::Facts(size_t slot) const {
  ColumnFacts facts;
  facts.name = layout_.slots[slot].name;
  for (const Part& part : parts_) {
    const CsvSlotCells& cells = part.cells->slots()[slot];
    ColumnFacts of_part;
    of_part.texts = cells.texts;
    of_part.missing = cells.missing;
    of_part.numbers = part.cells->rows() - cells.texts - cells.missing;
    if (cells.texts > 0) {
      of_part.first_text = cells.first_text;
      of_part.first_text_place = Text(Place(part, cells.first_text_line));
    }
    if (cells.infinite > 0) {
      of_part.first_infinite = cells.first_infinite;
      of_part.first_infinite_place = Text(Place(part, cells.first_infinite_line));
    }
    facts.Merge(of_part);
  }
  return facts;
}

bool CsvParse::HasPositive(size_t slot) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
    const float* const numbers = part.cells->numbers(slot);
    return std::any_of(numbers, numbers + part.cells->rows(), [](float number) { return number > 0; });
  });
}

std::vector<GroupStart> CsvParse::Groups() const {
  std::vector<GroupStart> starts;
  for (const Part& part : parts_) {
    for (const CsvCells::Group& group : part.cells->groups())
      starts.push_back({group.id, part.first_row + group.row, Place(part, group.line)});
  }
  return starts;
}

std::vector<std::string> CsvParse::Levels(size_t slot) const {
  std::vector<std::string> levels;
  for (const Part& part : parts_) {
    const std::vector<std::string>& more = part.cells->slots()[slot].levels;
    levels.insert(levels.end(), more.begin(), more.end());
  }
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return levels;
}

std::vector<int32_t> CsvParse::RowLevels(size_t slot, const std::vector<std::string>& levels) const {
  std::vector<int32_t> result;
  result.reserve(static_cast<size_t>(rows_));
  for (const Part& part : parts_) {
    const CsvSlotCells& cells = part.cells->slots()[slot];
    std::vector<int32_t> level_of_code;
    for (const std::string& text : cells.levels) {
      const auto found = std::lower_bound(levels.begin(), levels.end(), text);
      const bool known = found != levels.end() && *found == text;
      level_of_code.push_back(known ? static_cast<int32_t>(found - levels.begin()) : kUnknownLevel);
    }
    for (const int32_t code : cells.codes)
      result.push_back(code < 0 ? kMissingLevel : level_of_code[static_cast<size_t>(code)]);
  }
  return result;
}

std::pair<std::string, std::string> CsvParse::FirstUnknown(size_t slot,
                                                           const std::vector<std::string>& levels) const {
  for (const Part& part : parts_) {
    const CsvSlotCells& cells = part.cells->slots()[slot];
    for (size_t code = 0; code < cells.levels.size(); ++code) {
      if (!std::binary_search(levels.begin(), levels.end(), cells.levels[code]))
        return {Text(Place(part, cells.level_lines[code])), cells.levels[code]};
    }
  }
  return {};
}

std::vector<std::vector<float>> CsvParse::TakeNumbers(int threads) {
  std::vector<std::vector<float>> columns(layout_.slots.size());
  const auto wanted = [&](size_t slot) {
    return !layout_.slots[slot].as_text && layout_.slots[slot].role != CsvSlot::kGroup;
  };
  // Copies and frees a few chunks at a time, so that the table is not held twice.
  constexpr size_t kBatch = 32;
  for (size_t begin = 0; begin < parts_.size(); begin += kBatch) {
    const size_t end = std::min(begin + kBatch, parts_.size());
    ParallelFor(threads, columns.size(), [&](size_t slot) {
      if (!wanted(slot)) return;
      if (begin == 0) columns[slot].reserve(static_cast<size_t>(rows_));
      for (size_t i = begin; i < end; ++i) {
        const float* const numbers = parts_[i].cells->numbers(slot);
        columns[slot].insert(columns[slot].end(), numbers, numbers + parts_[i].cells->rows());
      }
    });
    for (size_t i = begin; i < end; ++i) parts_[i].cells->DropNumbers();
  }
  return columns;
}

}  // namespace winnow
