#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "worker/data/cell.h"
#include "worker/data/csv_table.h"

namespace winnow {

// The cells of one column while a table is read: first as numbers, with notes on those that are none; then,
// if it turns out to hold texts, a second time as numbered texts.
class CsvColumn {
 public:
  CsvColumn(std::string name, size_t position) : name_(std::move(name)), position_(position) {}

  const std::string& name() const { return name_; }
  size_t position() const { return position_; }
  bool is_text() const { return is_text_; }
  bool all_missing() const { return number_count_ + text_count_ == 0; }

  // First pass.
  CellKind AddNumber(std::string_view cell, CellPlace place);
  // Between the passes: whether this is a column of texts, which it is if one value is not a number. An error
  // if it looks like a column of numbers with a few broken cells (at least 99 % are numbers), or is infinite
  // somewhere.
  absl::Status DecideKind();
  // In place of DecideKind(), where the training data has decided.
  absl::Status SetKind(bool is_text);
  // Second pass, for a column of texts.
  void AddText(std::string_view cell, CellPlace place);

  // [row], NaN where missing; of a column of numbers. Moves them out.
  std::vector<float> TakeNumbers() { return std::move(numbers_); }
  // The distinct texts, as UTF-8, sorted by byte order.
  std::vector<std::string> SortedLevels() const;
  // [row]: the position in `levels` (sorted) of the row's text, kMissingLevel or kUnknownLevel.
  std::vector<int32_t> LevelsOfRows(const std::vector<std::string>& levels) const;
  static constexpr int32_t kMissingLevel = -1, kUnknownLevel = -2;
  // Where the first row of unknown text stands, with that text; for errors. REQUIRES: there is one.
  std::pair<CellPlace, std::string> FirstUnknown(const std::vector<std::string>& levels) const;

  // An error that says what to do if a column of texts has more than `max_levels` levels.
  absl::Status CheckLevelCount(size_t levels, int max_levels) const;

  // InvalidArgument "FILE:LINE: column "NAME": WHAT".
  absl::Status Error(CellPlace place, const std::string& what) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::string name_;
  size_t position_;
  bool is_text_ = false;
  std::vector<float> numbers_;
  int64_t number_count_ = 0, text_count_ = 0;
  CellPlace first_text_place_, first_infinite_place_;
  std::string first_text_, first_infinite_;

  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> code_of_text_;
  std::vector<std::string> texts_;      // by code, in order of appearance
  std::vector<CellPlace> text_places_;  // by code, of the first appearance
  std::vector<int32_t> codes_;          // [row]
};

}  // namespace winnow
