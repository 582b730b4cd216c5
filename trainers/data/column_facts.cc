#include "trainers/data/column_facts.h"

#include <algorithm>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/cell.h"

namespace winnow {
namespace {

// A numeric column has at least this many numbers for each text.
constexpr int64_t kNumbersPerText = 99;

// "1,5", "1.234,5" and "1,234"; not "1,2,3", which is a list.
bool HasNumberComma(std::string_view text) {
  const size_t comma = text.find(',');
  return comma != std::string_view::npos && comma > 0 && comma + 1 < text.size() &&
         text.substr(0, comma).find_first_not_of("+-0123456789.") == std::string_view::npos &&
         text.substr(comma + 1).find_first_not_of("0123456789") == std::string_view::npos;
}

bool AreNumbersWithCommas(const std::vector<std::string>& levels) {
  float ignored;
  return std::any_of(levels.begin(), levels.end(), HasNumberComma) &&
         std::all_of(levels.begin(), levels.end(), [&ignored](const std::string& level) {
           return HasNumberComma(level) || ParseCell(level, &ignored) == CellKind::kNumber;
         });
}

}  // namespace

void ColumnFacts::Merge(const ColumnFacts& later) {
  if (texts == 0) {
    first_text = later.first_text;
    first_text_place = later.first_text_place;
  }
  if (first_infinite.empty()) {
    first_infinite = later.first_infinite;
    first_infinite_place = later.first_infinite_place;
  }
  numbers += later.numbers;
  texts += later.texts;
  missing += later.missing;
}

absl::Status ColumnFacts::Error(const std::string& place, const std::string& what) const {
  return absl::InvalidArgumentError(fmt::format("{}: column \"{}\": {}", place, Excerpt(name), what));
}

absl::StatusOr<bool> DecideIsText(const ColumnFacts& column) {
  if (column.texts > 0 && column.numbers >= kNumbersPerText * column.texts) {
    return column.Error(
        column.first_text_place,
        fmt::format(
            "\"{}\" is not a number, but {} of the column's {} values are; correct or empty the cell, "
            "or drop the column",
            Excerpt(column.first_text), column.numbers, column.numbers + column.texts));
  }
  const bool is_text = column.texts > 0;
  if (absl::Status status = CheckIsText(column, is_text); !status.ok()) return status;
  return is_text;
}

absl::Status CheckIsText(const ColumnFacts& column, bool is_text) {
  if (is_text) return absl::OkStatus();
  if (column.texts > 0) {
    return column.Error(column.first_text_place,
                        fmt::format("\"{}\" is not a number; expected one, as in the training data",
                                    Excerpt(column.first_text)));
  }
  if (!column.first_infinite.empty()) {
    return column.Error(
        column.first_infinite_place,
        fmt::format("\"{}\" is infinite or beyond the range of a 32-bit float; expected a finite number, or "
                    "nothing for a missing one",
                    Excerpt(column.first_infinite)));
  }
  return absl::OkStatus();
}

absl::Status CheckLevels(const ColumnFacts& column, const std::vector<std::string>& levels,
                         const DataOptions& options) {
  if (AreNumbersWithCommas(levels))
    return column.Error(
        column.first_text_place,
        fmt::format("\"{}\" is a number with a comma, and no value of the column is a text; write numbers "
                    "with a decimal point and without commas",
                    Excerpt(column.first_text)));
  if (levels.size() <= static_cast<size_t>(options.max_levels)) return absl::OkStatus();
  return column.Error(
      column.first_text_place,
      fmt::format(
          "{0} different texts, the first being \"{1}\"; expected at most {2} (max_levels): drop it "
          "(\"drop\": [\"{3}\"]), or raise the limit (\"max_levels\": {0} of the channel, --max-levels on "
          "the command line){4}",
          levels.size(), Excerpt(column.first_text), options.max_levels, Excerpt(column.name),
          options.categorical
              ? ""
              : ", as one feature of categories (winnow-gbdt: enable_categorical, or \"categorical\": "
                "true of the channel) instead of one per text"));
}

}  // namespace winnow
