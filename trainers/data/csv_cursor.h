#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/data/decimal.h"
#include "trainers/data/file_source.h"

namespace winnow {

// An error in a text, with its line from 1.
struct LineError {
  int64_t line = 0;
  std::string what;
};

// Iterates over the records of a CSV text (RFC 4180 and its dialects). A record ends with LF, CRLF, a lone CR
// or the end of the text; blank lines are skipped. A field that begins with a quotation mark, after blanks or
// not, ends with the next one that is not doubled, and may contain separators and line ends; in any other
// field a quotation mark is an ordinary character. With separator ' ', fields are separated by runs of blanks
// and tabs.
//
//   while (cursor.NextRecord()) {
//     do { field = cursor.TakeField(); } while (cursor.NextField());
//   }
//   if (cursor.error()) ...
class CsvCursor {
 public:
  // Iterates over the records that begin in [begin, end) of the file. REQUIRES: *file outlives the cursor and
  // its results; a record begins at `begin`, whose line counts as line 1.
  CsvCursor(const SourceFile& file, char separator, size_t begin = 0, size_t end = std::string_view::npos);

  // Steps to the first field of the next record; false at the end or after an error.
  bool NextRecord();
  // Returns the field's text, without surrounding blanks unless they are quoted; valid until the next record.
  // After an error (an unclosed quotation mark, or text after a closing one) returns "", and the record ends.
  std::string_view TakeField() { return *at_ == '"' || IsBlank(*at_) ? TakeAnyField() : TakePlain(); }
  // Takes the field if it is a number that can be read at once, as nearly all are; otherwise does nothing.
  // False does not mean that it is not a number.
  bool TakeNumber(float* value) {
    const char* start = at_;
    while (*start == ' ') ++start;
    const char* const end = ScanDecimal(start, value);
    if (end == nullptr || (!IsSeparator(*end) && !IsLineEnd(end))) return false;
    at_ = end;
    return true;
  }
  // After a field: moves to the next one of the record; false if there is none.
  bool NextField() {
    if (IsSeparator(*at_)) {
      ++at_;
      if (separator_ != ' ') return true;
      SkipBlanks();
      if (!IsLineEnd(at_)) return true;
    }
    TakeLineEnd();
    return false;
  }

  // Reads all fields of the next record, as NextRecord() and TakeField(); *fields is empty if that is false.
  bool NextFields(std::vector<std::string_view>* fields);

  const std::optional<LineError>& error() const { return error_; }
  // Line where the record returned last begins, and line of the next unread byte.
  int64_t record_line() const { return record_line_; }
  int64_t line() const { return line_; }
  // Offset of the next unread byte.
  size_t offset() const { return static_cast<size_t>(at_ - text_); }

 private:
  bool IsSeparator(char c) const { return c == separator_ || c == other_separator_; }
  bool IsBlank(char c) const { return (c == ' ' || c == '\t') && !IsSeparator(c); }
  // The text contains no byte 0, and is followed by one.
  static bool IsLineEnd(const char* at) { return *at == '\n' || *at == '\r' || *at == '\0'; }
  void SkipBlanks() {
    while (*at_ == ' ' || *at_ == '\t') ++at_;
  }
  void TakeLineEnd() {
    if (*at_ == '\0') return;
    at_ += at_[0] == '\r' && at_[1] == '\n' ? 2 : 1;
    ++line_;
  }
  std::string_view TakePlain();
  std::string_view TakeAnyField();
  std::string_view TakeQuoted();
  std::string_view Fail(int64_t line, std::string what);

  const char separator_, other_separator_;
  const char *const text_, *const text_end_, *const end_;
  const char* at_;
  int64_t line_ = 1, record_line_ = 0;
  std::deque<std::string> unescaped_;  // the fields of this record that contained doubled quotation marks
  std::optional<LineError> error_;
};

}  // namespace winnow
