#include "worker/data/csv_column.h"

#include <algorithm>

#include "fmt/format.h"

namespace winnow {
namespace {

// "1,5" or "1.234,5": what a decimal comma makes of numbers.
bool HasDecimalComma(std::string_view text) {
  return text.find(',') != std::string_view::npos &&
         text.find_first_not_of("+-0123456789.,") == std::string_view::npos;
}

}  // namespace

absl::Status CsvColumn::Error(CellPlace place, const std::string& what) const {
  return absl::InvalidArgumentError(
      fmt::format("{}:{}: column \"{}\": {}", place.file->path, place.line, name_, what));
}

CellKind CsvColumn::AddNumber(std::string_view cell, CellPlace place) {
  float value;
  const CellKind kind = ParseCell(cell, &value);
  numbers_.push_back(value);
  if (kind == CellKind::kNumber) {
    ++number_count_;
  } else if (kind == CellKind::kText) {
    if (text_count_++ == 0) {
      first_text_place_ = place;
      first_text_ = cell;
    }
  } else if (kind == CellKind::kInfinite) {
    ++number_count_;
    if (first_infinite_.empty()) {
      first_infinite_place_ = place;
      first_infinite_ = cell;
    }
  }
  return kind;
}

absl::Status CsvColumn::DecideKind() {
  if (text_count_ > 0 && number_count_ >= 99 * text_count_) {
    return Error(
        first_text_place_,
        fmt::format("\"{}\" is not a number, but {} of the column's {} values are; mend or empty the cell, "
                    "or drop the column",
                    Excerpt(first_text_), number_count_, number_count_ + text_count_));
  }
  return SetKind(text_count_ > 0);
}

absl::Status CsvColumn::SetKind(bool is_text) {
  is_text_ = is_text;
  if (is_text) {
    codes_.reserve(numbers_.size());
    numbers_ = {};
    return absl::OkStatus();
  }
  if (text_count_ > 0) {
    return Error(
        first_text_place_,
        fmt::format("\"{}\" is not a number; expected one, as in the training data", Excerpt(first_text_)));
  }
  if (!first_infinite_.empty()) {
    return Error(
        first_infinite_place_,
        fmt::format("\"{}\" is infinite or beyond the range of a 32-bit float; expected a finite number, or "
                    "nothing for a missing one",
                    Excerpt(first_infinite_)));
  }
  return absl::OkStatus();
}

void CsvColumn::AddText(std::string_view cell, CellPlace place) {
  // Missing or not is asked once a text, not once a cell.
  if (const auto known = code_of_text_.find(cell); known != code_of_text_.end()) {
    codes_.push_back(known->second);
    return;
  }
  float value;
  const bool missing = ParseCell(cell, &value) == CellKind::kMissing;
  const int32_t code = missing ? kMissingLevel : static_cast<int32_t>(texts_.size());
  if (!missing) {
    texts_.push_back(ToUtf8(cell));
    text_places_.push_back(place);
  }
  code_of_text_.emplace(cell, code);
  codes_.push_back(code);
}

std::vector<std::string> CsvColumn::SortedLevels() const {
  std::vector<std::string> levels = texts_;
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return levels;
}

std::vector<int32_t> CsvColumn::LevelsOfRows(const std::vector<std::string>& levels) const {
  std::vector<int32_t> level_of_code;
  for (const std::string& text : texts_) {
    const auto found = std::lower_bound(levels.begin(), levels.end(), text);
    const bool known = found != levels.end() && *found == text;
    level_of_code.push_back(known ? static_cast<int32_t>(found - levels.begin()) : kUnknownLevel);
  }
  std::vector<int32_t> result;
  result.reserve(codes_.size());
  for (const int32_t code : codes_) {
    result.push_back(code < 0 ? code : level_of_code[static_cast<size_t>(code)]);
  }
  return result;
}

std::pair<CellPlace, std::string> CsvColumn::FirstUnknown(const std::vector<std::string>& levels) const {
  size_t code = 0;
  while (std::binary_search(levels.begin(), levels.end(), texts_[code])) ++code;
  return {text_places_[code], texts_[code]};
}

absl::Status CsvColumn::CheckLevelCount(size_t levels, int max_levels) const {
  if (levels <= static_cast<size_t>(max_levels)) return absl::OkStatus();
  const std::string hint = HasDecimalComma(first_text_)
                               ? "write numbers with a decimal point instead of a comma"
                               : fmt::format("drop it (\"drop\": [\"{}\"]) or raise max_levels", name_);
  return Error(first_text_place_,
               fmt::format("{} different texts, the first being \"{}\"; expected at most {} "
                           "(max_levels): {}",
                           levels, Excerpt(first_text_), max_levels, hint));
}

}  // namespace winnow
