#include "worker/data/csv_cursor.h"

#include <algorithm>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/data/cell.h"

namespace winnow {

absl::StatusOr<bool> CsvCursor::Next(std::vector<std::string_view>* fields) {
  fields->clear();
  unescaped_.clear();
  for (;;) {  // over blank lines
    const size_t line_start = at_;
    SkipBlanks();
    if (at_ >= text().size()) return false;
    if (!AtLineEnd()) {
      if (separator_ != ' ') at_ = line_start;  // a tab may be a separator
      break;
    }
    if (separator_ == '\t' &&
        text().substr(line_start, at_ - line_start).find('\t') != std::string_view::npos) {
      at_ = line_start;  // a record of empty fields
      break;
    }
    TakeLineEnd();
  }
  record_line_ = line_;
  for (;;) {
    std::string_view field;
    const size_t field_start = at_;
    while (at_ < text().size() && (text()[at_] == ' ' || text()[at_] == '\t') && !IsSeparator(text()[at_]))
      ++at_;
    if (at_ < text().size() && text()[at_] == '"') {
      if (absl::Status status = TakeQuoted(&field); !status.ok()) return status;
    } else {
      at_ = field_start;
      field = TakePlain();
    }
    fields->push_back(field);
    if (AtLineEnd()) break;
    ++at_;  // the separator
    if (separator_ == ' ') {
      SkipBlanks();
      if (AtLineEnd()) break;
    }
  }
  TakeLineEnd();
  return true;
}

void CsvCursor::SkipBlanks() {
  while (at_ < text().size() && (text()[at_] == ' ' || text()[at_] == '\t')) ++at_;
}

void CsvCursor::TakeLineEnd() {
  if (at_ >= text().size()) return;
  at_ += text()[at_] == '\r' && at_ + 1 < text().size() && text()[at_ + 1] == '\n' ? 2 : 1;
  ++line_;
}

std::string_view CsvCursor::TakePlain() {
  const size_t start = at_;
  while (!AtLineEnd() && !IsSeparator(text()[at_])) ++at_;
  return TrimBlanks(text().substr(start, at_ - start));
}

absl::Status CsvCursor::TakeQuoted(std::string_view* field) {
  const int64_t opened_on = line_;
  const size_t start = ++at_;
  bool doubled = false;
  for (;; ++at_) {
    if (at_ >= text().size()) {
      return absl::InvalidArgumentError(
          fmt::format("{}:{}: the quotation mark before \"{}\" is never closed; expected a closing one, or a "
                      "doubled one inside",
                      file_->path, opened_on, Excerpt(text().substr(start, 20))));
    }
    const char c = text()[at_];
    if (c == '"') {
      if (at_ + 1 >= text().size() || text()[at_ + 1] != '"') break;
      doubled = true;
      ++at_;
    } else if (c == '\n' || (c == '\r' && (at_ + 1 >= text().size() || text()[at_ + 1] != '\n'))) {
      ++line_;
    }
  }
  *field = text().substr(start, at_ - start);
  if (doubled) {
    std::string& plain = unescaped_.emplace_back();
    for (size_t i = 0; i < field->size(); ++i) {
      plain += (*field)[i];
      if ((*field)[i] == '"') ++i;
    }
    *field = plain;
  }
  ++at_;
  while (!AtLineEnd() && !IsSeparator(text()[at_])) {
    if (text()[at_] != ' ' && text()[at_] != '\t') {
      const size_t line_end = std::min(text().find_first_of("\r\n", at_), text().size());
      return absl::InvalidArgumentError(fmt::format(
          "{}:{}: \"{}\" after a closing quotation mark; expected a separator or the end of the line",
          file_->path, line_, Excerpt(text().substr(at_, std::min<size_t>(line_end - at_, 10)))));
    }
    ++at_;
  }
  return absl::OkStatus();
}

}  // namespace winnow
