#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// How the records of a text are separated.
struct RecordRules {
  bool quotes = false;   // CSV: a line end in a quoted field ends no record
  bool header = false;   // the first record belongs to every part
  char separator = ',';  // of CSV: a quote begins a field after it, or at a record's begin
};

// The rules for a file of that name that begins with `begin`. `format` ("", "auto", "csv", "libsvm"),
// `header` ("", "auto", "yes", "no") and `separator` are the channel's; a CSV has a header unless it is "no".
// FAILED_PRECONDITION: it is neither CSV nor JSON lines nor LIBSVM, or compressed.
absl::StatusOr<RecordRules> RulesOf(std::string_view name, std::string_view begin, std::string_view format,
                                    std::string_view header, std::string_view separator);

// Finds the ends of a text's records, given piece by piece.
class RecordScanner {
 public:
  explicit RecordScanner(const RecordRules& rules) : rules_(rules) {}
  // Calls `record_ends(offset)` with the offset in the text after each record's line end. Lines without a
  // character count as no record, and belong to the one after them.
  template <typename RecordEnds>
  void Add(std::string_view bytes, RecordEnds record_ends);
  // Whether the text ends within a record, and within quotes.
  bool in_record() const { return blank_ == false; }
  bool in_quotes() const { return state_ == State::kQuoted; }
  int64_t quote_record() const { return records_ + 1; }  // number of the record, from 1

 private:
  enum class State { kFieldBegins, kField, kQuoted, kQuoteInQuoted };
  const RecordRules rules_;
  State state_ = State::kFieldBegins;
  bool blank_ = true;  // nothing since the last line end
  int64_t offset_ = 0;
  int64_t records_ = 0;
};

// A contiguous part of a text's records: its bytes, and those of the header before them.
struct RecordPart {
  int64_t header_end = 0;  // 0: no header
  int64_t begin = 0;
  int64_t end = 0;
};

// The part of a rank: records are counted, and the first ranks get one more where they do not divide evenly.
// `descriptor`: a regular file. FAILED_PRECONDITION: fewer records than ranks, or a quoted field without an
// end; RESOURCE_EXHAUSTED: it cannot be read.
absl::StatusOr<RecordPart> PartOfRecords(int descriptor, const RecordRules& rules, int rank, int ranks);

template <typename RecordEnds>
void RecordScanner::Add(std::string_view bytes, RecordEnds record_ends) {
  size_t at = 0;
  while (at < bytes.size()) {
    if (!rules_.quotes) {
      const size_t end = bytes.find('\n', at);
      const std::string_view line = bytes.substr(at, end == std::string_view::npos ? end : end - at);
      if (line.find_first_not_of('\r') != std::string_view::npos) blank_ = false;
      if (end == std::string_view::npos) break;
      if (!blank_) {
        ++records_;
        record_ends(offset_ + static_cast<int64_t>(end) + 1);
      }
      blank_ = true;
      at = end + 1;
      continue;
    }
    const char c = bytes[at++];
    if (state_ == State::kQuoted) {
      if (c == '"') state_ = State::kQuoteInQuoted;
      continue;
    }
    if (c == '\n') {
      if (!blank_) {
        ++records_;
        record_ends(offset_ + static_cast<int64_t>(at));
      }
      blank_ = true;
      state_ = State::kFieldBegins;
      continue;
    }
    if (c != '\r') blank_ = false;
    if (c == '"') {
      const bool opens = state_ == State::kFieldBegins || state_ == State::kQuoteInQuoted;
      state_ = opens ? State::kQuoted : State::kField;
    } else {
      state_ = c == rules_.separator ? State::kFieldBegins : State::kField;
    }
  }
  offset_ += static_cast<int64_t>(bytes.size());
}

}  // namespace winnow
