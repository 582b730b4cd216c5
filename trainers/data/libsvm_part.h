#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/data/csv_cursor.h"
#include "trainers/data/file_source.h"

namespace winnow {

// The rows of consecutive whole lines of a LIBSVM text: "label[:weight] [qid:ID] index:value … # comment".
class LibsvmPart {
 public:
  // Reads [begin, end) of the text up to its end or first error. REQUIRES: a line begins at `begin`, and
  // `end` follows a line end or is the end of the text.
  LibsvmPart(const SourceFile& text, size_t begin, size_t end);

  struct Entry {
    int32_t index = 0;
    float value = 0;
  };
  struct Group {
    std::string id;
    int64_t row = 0, line = 0;  // in the part
  };
  static constexpr int64_t kMaxIndex = std::numeric_limits<int32_t>::max();

  int64_t rows() const { return static_cast<int64_t>(label_.size()); }
  // Line ends in the part.
  int64_t lines() const { return lines_; }
  const std::optional<LineError>& error() const { return error_; }

  const std::vector<float>& label() const { return label_; }
  const std::vector<float>& weight() const { return weight_; }  // empty if the rows have none
  // Rows whose query id differs from that of the previous row in the part; empty if the rows have none.
  const std::vector<Group>& groups() const { return groups_; }
  // Line of the first row.
  int64_t first_line() const { return first_line_; }
  // The entries of row r are [row_ends()[r - 1], row_ends()[r]).
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<size_t>& row_ends() const { return row_ends_; }
  int64_t smallest() const { return smallest_; }
  int64_t largest() const { return largest_; }

 private:
  bool TakeRow();
  bool TakeLabel();
  bool TakeGroup();
  bool TakeQuickEntries();
  bool TakeEntry();
  bool CheckIndices();
  void Add(int64_t index, float value);
  std::string_view TakeToken();
  void SkipBlanks() {
    while (*at_ == ' ' || *at_ == '\t') ++at_;
  }
  bool AtRowEnd() const { return *at_ == '\n' || *at_ == '\r' || *at_ == '#' || *at_ == '\0'; }
  bool Fail(std::string what);

  const char* at_;
  int64_t lines_ = 0, first_line_ = 0;
  std::optional<LineError> error_;
  std::vector<float> label_, weight_;
  std::vector<Group> groups_;
  std::vector<Entry> entries_;
  std::vector<size_t> row_ends_;
  int64_t smallest_ = kMaxIndex, largest_ = -1;
};

// Whether `token` has the form index:value.
bool IsLibsvmEntry(std::string_view token);
// Returns `text` as a finite number, if it is one.
std::optional<float> FiniteNumber(std::string_view text);
// Returns `text` as a whole number from 0 to kMaxIndex, if it is one.
std::optional<int64_t> LibsvmIndex(std::string_view text);

}  // namespace winnow
