#include "trainers/data/csv_chunk.h"

#include <algorithm>
#include <string_view>

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
      const size_t line_end = text_.find('\n', std::max(from, outside_));
      if (line_end == kNone || line_end < quote_) return line_end == kNone ? kNone : line_end + 1;
      PassQuote();
    }
  }

 private:
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

}  // namespace winnow
