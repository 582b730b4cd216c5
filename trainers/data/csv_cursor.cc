#include "trainers/data/csv_cursor.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "trainers/data/cell.h"

namespace winnow {

CsvCursor::CsvCursor(const SourceFile& file, char separator, size_t begin, size_t end)
    : separator_(separator),
      other_separator_(separator == ' ' ? '\t' : separator),
      text_(file.bytes.data()),
      text_end_(text_ + file.bytes.size()),
      end_(text_ + std::min(end, file.bytes.size())),
      at_(text_ + begin) {}

bool CsvCursor::NextRecord() {
  if (error_) return false;
  if (!unescaped_.empty()) unescaped_.clear();
  for (;;) {  // skips blank lines
    if (at_ >= end_) return false;
    const char* const line_start = at_;
    SkipBlanks();
    if (at_ == text_end_) return false;
    const bool blank = IsLineEnd(at_);
    // With tabs as separators this is a record of empty fields.
    const bool tabs = separator_ == '\t' && std::find(line_start, at_, '\t') != at_;
    if (!blank || tabs) {
      if (separator_ != ' ') at_ = line_start;  // a tab may be a separator
      break;
    }
    TakeLineEnd();
  }
  record_line_ = line_;
  return true;
}

bool CsvCursor::NextFields(std::vector<std::string_view>* fields) {
  fields->clear();
  if (!NextRecord()) return false;
  do {
    fields->push_back(TakeField());
  } while (NextField());
  if (error_) fields->clear();
  return !error_;
}

std::string_view CsvCursor::TakePlain() {
  const char* const start = at_;
  while (!IsSeparator(*at_) && !IsLineEnd(at_)) ++at_;
  return TrimBlanks({start, static_cast<size_t>(at_ - start)});
}

std::string_view CsvCursor::TakeAnyField() {
  const char* const start = at_;
  while (IsBlank(*at_)) ++at_;
  if (*at_ == '"') return TakeQuoted();
  at_ = start;
  return TakePlain();
}

std::string_view CsvCursor::Fail(int64_t line, std::string what) {
  error_ = LineError{line, std::move(what)};
  at_ = text_end_;
  return "";
}

std::string_view CsvCursor::TakeQuoted() {
  const int64_t opened_on = line_;
  const char* const start = ++at_;
  bool doubled = false;
  for (;; ++at_) {
    if (at_ == text_end_) {
      const std::string_view head(start, std::min<size_t>(static_cast<size_t>(text_end_ - start), 20));
      return Fail(opened_on,
                  fmt::format("the quotation mark before \"{}\" is never closed; expected a closing one, "
                              "or a doubled one inside",
                              Excerpt(head)));
    }
    if (*at_ == '"') {
      if (at_[1] != '"') break;
      doubled = true;
      ++at_;
    } else if (*at_ == '\n' || (*at_ == '\r' && at_[1] != '\n')) {
      ++line_;
    }
  }
  std::string_view field(start, static_cast<size_t>(at_ - start));
  if (doubled) {
    std::string& plain = unescaped_.emplace_back();
    for (size_t i = 0; i < field.size(); ++i) {
      plain += field[i];
      if (field[i] == '"') ++i;
    }
    field = plain;
  }
  for (++at_; !IsSeparator(*at_) && !IsLineEnd(at_); ++at_) {
    if (*at_ == ' ' || *at_ == '\t') continue;
    const std::string_view rest(at_, std::min<size_t>(static_cast<size_t>(text_end_ - at_), 10));
    return Fail(
        line_,
        fmt::format("\"{}\" after a closing quotation mark; expected a separator or the end of the line",
                    Excerpt(rest.substr(0, rest.find_first_of("\r\n")))));
  }
  return field;
}

}  // namespace winnow
