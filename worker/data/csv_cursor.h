#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/file_source.h"

namespace winnow {

// Walks over the records of a CSV text (RFC 4180 and its dialects). A record ends with LF, CRLF, a lone CR or
// the end of the text; blank lines are read over. A field that begins with a quotation mark, after blanks or
// not, ends with the next one that is not doubled and may hold separators and line ends; in any other field a
// quotation mark is a character like any other. With separator ' ', fields are separated by runs of blanks
// and tabs.
class CsvCursor {
 public:
  // REQUIRES: *file outlives the cursor and what it returns.
  CsvCursor(const SourceFile* file, char separator) : file_(file), separator_(separator) {}

  // Puts the next record's fields, blanks around unquoted ones trimmed, into *fields; they are valid until
  // the next call. False at the end of the text, *fields then being empty. InvalidArgument, with file and
  // line, for a quotation mark that nothing closes and for text after a closing one.
  absl::StatusOr<bool> Next(std::vector<std::string_view>* fields);

  // Line, from 1, on which the record returned last begins.
  int64_t line() const { return record_line_; }

 private:
  bool AtLineEnd() const { return at_ >= text().size() || text()[at_] == '\n' || text()[at_] == '\r'; }
  bool IsSeparator(char c) const { return c == separator_ || (separator_ == ' ' && c == '\t'); }
  std::string_view text() const { return file_->bytes; }
  void SkipBlanks();
  void TakeLineEnd();
  absl::Status TakeQuoted(std::string_view* field);
  std::string_view TakePlain();

  const SourceFile* file_;
  char separator_;
  size_t at_ = 0;
  int64_t line_ = 1;
  int64_t record_line_ = 0;
  std::deque<std::string> unescaped_;  // the fields of this record that held doubled quotation marks
};

}  // namespace winnow
