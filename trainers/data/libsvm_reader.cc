#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/cell.h"
#include "trainers/data/csv_cursor.h"
#include "trainers/data/decimal.h"
#include "trainers/data/groups.h"
#include "trainers/data/parallel.h"
#include "trainers/data/part_reading.h"
#include "trainers/data/table_facts.h"
#include "trainers/data/text_stream.h"

namespace winnow {
namespace {

constexpr int64_t kMaxFeatures = int64_t{1} << 24;

// The rows of consecutive whole lines of a LIBSVM text: "label[:weight] [qid:ID] index:value … # comment".
class LibsvmPart {
 public:
  // Reads [begin, end) of the text up to its end or first error. REQUIRES: a line begins at `begin`, and
  // `end` follows a line end or is the end of the text.
  LibsvmPart(const SourceFile& text, size_t begin, size_t end, bool to_predict);

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
  bool AtGroup() const { return std::strncmp(at_, "qid:", 4) == 0; }
  bool Fail(std::string what);

  const char* at_;
  const bool to_predict_;
  int64_t lines_ = 0, first_line_ = 0;
  std::optional<LineError> error_;
  std::vector<float> label_, weight_;
  std::vector<Group> groups_;
  std::vector<Entry> entries_;
  std::vector<size_t> row_ends_;
  int64_t smallest_ = kMaxIndex, largest_ = -1;
};

// Returns `text` as a finite number, if it is one.
std::optional<float> FiniteNumber(std::string_view text) {
  float value;
  return ParseCell(text, &value) == CellKind::kNumber ? std::optional<float>(value) : std::nullopt;
}

// Returns `text` as a whole number from 0 to kMaxIndex, if it is one.
std::optional<int64_t> LibsvmIndex(std::string_view text) {
  int64_t index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index < 0 || index > LibsvmPart::kMaxIndex)
    return std::nullopt;
  return index;
}

// Whether `token` has the form index:value.
bool IsLibsvmEntry(std::string_view token) {
  const size_t colon = token.find(':');
  return colon != std::string_view::npos && LibsvmIndex(token.substr(0, colon)).has_value() &&
         FiniteNumber(token.substr(colon + 1)).has_value();
}

LibsvmPart::LibsvmPart(const SourceFile& text, size_t begin, size_t end, bool to_predict)
    : at_(text.bytes.data() + begin), to_predict_(to_predict) {
  const char* const stop = text.bytes.data() + end;
  while (at_ < stop) {
    SkipBlanks();
    if (!AtRowEnd() && !TakeRow()) return;
    while (*at_ != '\n' && *at_ != '\r' && at_ < stop) ++at_;  // skips a comment
    if (at_ < stop) at_ += at_[0] == '\r' && at_[1] == '\n' ? 2 : 1;
    ++lines_;
  }
}

bool LibsvmPart::Fail(std::string what) {
  error_ = LineError{lines_ + 1, std::move(what)};
  return false;
}

std::string_view LibsvmPart::TakeToken() {
  const char* const begin = at_;
  while (*at_ != ' ' && *at_ != '\t' && !AtRowEnd()) ++at_;
  const std::string_view token(begin, static_cast<size_t>(at_ - begin));
  SkipBlanks();
  return token;
}

bool LibsvmPart::TakeRow() {
  if (label_.empty()) first_line_ = lines_ + 1;
  if (!TakeLabel() || !TakeGroup()) return false;
  while (!AtRowEnd()) {
    if (!TakeQuickEntries() && !TakeEntry()) return false;
  }
  if (!CheckIndices()) return false;
  row_ends_.push_back(entries_.size());
  return true;
}

bool LibsvmPart::TakeLabel() {
  const std::string_view token = TakeToken();
  const size_t colon = token.find(':');
  const bool weighted = colon != std::string_view::npos;
  if (to_predict_ && !AtGroup() && IsLibsvmEntry(token)) {
    return Fail(
        fmt::format("\"{}\" first on a line to predict may be label:weight, or an entry without a label "
                    "before it; expected a label alone, such as 0",
                    Excerpt(token)));
  }
  const std::string_view label_text = token.substr(0, colon);
  const std::optional<float> label = FiniteNumber(label_text);
  if (!label)
    return Fail(fmt::format("label \"{}\"; expected a number first on the line", Excerpt(label_text)));
  if (weighted) {
    const std::optional<float> weight = FiniteNumber(token.substr(colon + 1));
    if (!weight || *weight < 0) {
      return Fail(
          fmt::format("weight in \"{}\"; expected label:weight with a weight of 0 or more", Excerpt(token)));
    }
    weight_.push_back(*weight);
  }
  label_.push_back(*label);
  if (!weight_.empty() && weight_.size() != label_.size()) {
    return Fail(
        fmt::format("a row {} weight after rows {} one; expected label:weight in every row or in none",
                    weighted ? "with a" : "without a", weighted ? "without" : "with"));
  }
  return true;
}

bool LibsvmPart::TakeGroup() {
  const bool grouped = AtGroup();
  if (label_.size() > 1 && grouped == groups_.empty()) {
    return Fail(fmt::format("a row {} a qid after rows {} one; expected label qid:ID in every row or in none",
                            grouped ? "with" : "without", grouped ? "without" : "with"));
  }
  if (!grouped) return true;
  const std::string_view id = TakeToken().substr(4);
  if (id.empty() || id.find_first_not_of("0123456789") != std::string_view::npos)
    return Fail(fmt::format("\"qid:{}\"; expected qid: and a whole number of 0 or more", Excerpt(id)));
  if (groups_.empty() || groups_.back().id != id)
    groups_.push_back({std::string(id), static_cast<int64_t>(label_.size()) - 1, lines_ + 1});
  return true;
}

void LibsvmPart::Add(int64_t index, float value) {
  smallest_ = std::min(smallest_, index);
  largest_ = std::max(largest_, index);
  entries_.push_back({static_cast<int32_t>(index), value});
}

// Takes entries of the usual form; returns whether there was one.
bool LibsvmPart::TakeQuickEntries() {
  constexpr int kSafeDigits = 9;  // digits of an index that cannot be too large
  const char* const begin = at_;
  for (;;) {
    uint64_t index = 0;
    const char* const colon = decimal_internal::TakeDigits(at_, &index);
    if (colon == at_ || colon - at_ > kSafeDigits || *colon != ':') break;
    float value;
    const char* const end = ScanDecimal(colon + 1, &value);
    if (end == nullptr || (*end != ' ' && *end != '\t' && *end != '\n' && *end != '\r' && *end != '\0'))
      break;
    Add(static_cast<int64_t>(index), value);
    at_ = end;
    SkipBlanks();
  }
  return at_ != begin;
}

bool LibsvmPart::TakeEntry() {
  const std::string_view token = TakeToken();
  const size_t colon = token.find(':');
  const std::string_view index_text = token.substr(0, colon);
  if (index_text == "qid") {
    return Fail(
        fmt::format("\"{}\" after other entries; expected it once, behind the label", Excerpt(token)));
  }
  const std::optional<int64_t> index = LibsvmIndex(index_text);
  if (!index && !index_text.empty() && index_text.find_first_not_of("0123456789") == std::string_view::npos)
    return Fail(
        fmt::format("\"{}\": the index is too large; expected at most {}", Excerpt(token), kMaxFeatures));
  if (!index || colon == std::string_view::npos) {
    return Fail(fmt::format("\"{}\"; expected index:value with a whole index of 0 or more", Excerpt(token)));
  }
  const std::string_view value_text = token.substr(colon + 1);
  float value;
  const CellKind kind = ParseCell(value_text, &value);
  if (kind != CellKind::kNumber && (kind != CellKind::kMissing || value_text.empty())) {
    return Fail(fmt::format("column \"f{}\": \"{}\"; expected a finite number", *index, Excerpt(value_text)));
  }
  Add(*index, value);
  return true;
}

// Checks that no index of the row occurs twice.
bool LibsvmPart::CheckIndices() {
  const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(row_ends_.empty() ? 0 : row_ends_.back());
  const auto not_above = [](const Entry& a, const Entry& b) { return a.index >= b.index; };
  if (std::adjacent_find(begin, entries_.end(), not_above) == entries_.end()) return true;
  std::vector<int32_t> sorted;
  for (auto entry = begin; entry != entries_.end(); ++entry) sorted.push_back(entry->index);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return true;
  return Fail(fmt::format("index {} comes twice; expected each index once in a row", *twice));
}

constexpr int64_t kMaxCells = int64_t{1} << 31;    // of dense columns: 8 GiB of floats
constexpr int64_t kMaxEntries = int64_t{1} << 31;  // of sparse columns
constexpr size_t kPartBytes = 1 << 20;
constexpr size_t kPartsOfWindow = 8;  // for each thread

absl::Status CheckOptions(const std::string& path, const DataOptions& options) {
  const auto refuse = [&](const char* name, const std::string& value, const char* why) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} is \"{}\", but the file is LIBSVM: {}", path, name, value, why));
  };
  if (!options.label.empty())
    return refuse("label", options.label, "its label stands first; leave label empty");
  if (!options.weight.empty())
    return refuse("weight", options.weight, "write label:weight, and leave weight empty");
  if (!options.group.empty())
    return refuse("group", options.group, "write qid:ID behind the label, and leave group empty");
  return absl::OkStatus();
}

// The index of a feature f<index>.
std::optional<int64_t> IndexOf(const ColumnSchema& column) {
  if (column.text || !column.name.starts_with("f")) return std::nullopt;
  return LibsvmIndex(std::string_view(column.name).substr(1));
}

absl::Status NotOfLibsvm(const std::string& path, const ColumnSchema& column) {
  return absl::InvalidArgumentError(
      fmt::format("{}: the training data has a column \"{}\", which a LIBSVM file cannot hold; expected "
                  "the format of the training data",
                  path, column.name));
}

// The column of each index: by an array, or by a hash table if indices are large.
class ColumnOf {
 public:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  void Add(int64_t index, size_t column) {
    ++columns_;
    if (index >= kArrayEnd) {
      far_.emplace(index, column);
      return;
    }
    if (index >= static_cast<int64_t>(near_.size())) near_.resize(static_cast<size_t>(index) + 1, kNobody);
    if (near_[static_cast<size_t>(index)] == kNobody)
      near_[static_cast<size_t>(index)] = static_cast<int32_t>(column);
  }
  // kNone if there is none.
  size_t Find(int64_t index) const {
    if (index < static_cast<int64_t>(near_.size())) {
      const int32_t column = near_[static_cast<size_t>(index)];
      return column == kNobody ? kNone : static_cast<size_t>(column);
    }
    const auto found = far_.find(index);
    return found == far_.end() ? kNone : found->second;
  }
  size_t columns() const { return columns_; }

 private:
  static constexpr int64_t kArrayEnd = 1 << 25;
  static constexpr int32_t kNobody = -1;
  std::vector<int32_t> near_;
  std::unordered_map<int64_t, size_t> far_;
  size_t columns_ = 0;
};

// A LIBSVM table, part by part in order.
class LibsvmTable {
 public:
  absl::Status AddFile(const std::string& path, int threads, bool to_predict);

  TableFacts Facts() const {
    TableFacts facts;
    facts.rows = rows_;
    facts.weighted = weighted();
    facts.weighs = std::any_of(parts_.begin(), parts_.end(), [](const auto& part) {
      return std::any_of(part->weight().begin(), part->weight().end(),
                         [](float weight) { return weight > 0; });
    });
    facts.grouped = grouped();
    if (facts.grouped) {
      facts.first_group = groups_.front().id;
      facts.last_group = groups_.back().id;
    }
    for (const auto& part : parts_) {
      facts.smallest = std::min(facts.smallest, part->smallest());
      facts.largest = std::max(facts.largest, part->largest());
    }
    return facts;
  }
  const std::vector<GroupStart>& groups() const { return groups_; }
  // Sets all but the schema. sparse: [column]; empty: all columns are dense.
  void MoveTo(const ColumnOf& column_of, const std::vector<bool>& sparse, int threads, DataSet* data);
  // The entries of each column.
  std::vector<uint64_t> CountEntries(const ColumnOf& column_of) const;

 private:
  bool weighted() const { return !parts_.empty() && !parts_.front()->weight().empty(); }
  bool grouped() const { return !groups_.empty(); }
  absl::Status AddParts(std::vector<std::unique_ptr<LibsvmPart>> parts, const std::string& path,
                        int64_t* lines);

  std::vector<std::unique_ptr<LibsvmPart>> parts_;  // those with rows
  std::vector<int64_t> first_rows_;                 // [part]
  std::vector<GroupStart> groups_;
  int64_t rows_ = 0;
};

// Returns where the line after the one at `from` begins; npos if that is not in the text.
size_t NextLine(std::string_view text, size_t from) {
  const size_t line_end = text.find_first_of("\r\n", from);
  if (line_end == std::string_view::npos || line_end + 1 >= text.size()) return std::string_view::npos;
  return line_end + (text[line_end] == '\r' && text[line_end + 1] == '\n' ? 2 : 1);
}

absl::Status LibsvmTable::AddFile(const std::string& path, int threads, bool to_predict) {
  const size_t window_bytes =
      std::min(kPartsOfWindow * kPartBytes * static_cast<size_t>(std::max(threads, 1)), kLongestRecord);
  absl::StatusOr<TextStream> stream = TextStream::Open(path, window_bytes, threads);
  if (!stream.ok()) return stream.status();
  int64_t lines = 0;
  for (;;) {
    const std::string_view text = stream->window().bytes;
    std::vector<size_t> cuts = {0};
    while (cuts.back() + kPartBytes < text.size()) {
      const size_t next = NextLine(text, cuts.back() + kPartBytes);
      if (next == std::string_view::npos) break;
      cuts.push_back(next);
    }
    if (stream->at_end() && cuts.back() < text.size()) cuts.push_back(text.size());
    std::vector<std::unique_ptr<LibsvmPart>> parts(cuts.size() - 1);
    ParallelFor(threads, parts.size(), [&](size_t i) {
      parts[i] = std::make_unique<LibsvmPart>(stream->window(), cuts[i], cuts[i + 1], to_predict);
    });
    if (absl::Status status = AddParts(std::move(parts), path, &lines); !status.ok()) return status;
    if (stream->at_end()) return absl::OkStatus();
    if (cuts.size() == 1 && text.size() >= kLongestRecord) {
      int64_t line = lines + 1;
      for (size_t at = 0; (at = NextLine(text, at)) != std::string_view::npos;) ++line;
      return RecordTooLong(path, line);
    }
    const absl::Status status = cuts.size() == 1 ? stream->Grow() : stream->Advance(cuts.back());
    if (!status.ok()) return status;
  }
}

// *lines: in, the lines of the file before the parts; out, those before the text that follows them.
absl::Status LibsvmTable::AddParts(std::vector<std::unique_ptr<LibsvmPart>> parts, const std::string& path,
                                   int64_t* lines) {
  for (std::unique_ptr<LibsvmPart>& part : parts) {
    const auto error = [&](int64_t line, std::string_view what) {
      return absl::InvalidArgumentError(fmt::format("{}:{}: {}", path, *lines + line, what));
    };
    // Its rows agree with each other, and must agree with those before.
    const bool has_weight = !part->weight().empty(), has_group = !part->groups().empty();
    if (part->rows() > 0 && rows_ > 0 && has_weight != weighted()) {
      return error(
          part->first_line(),
          fmt::format("a row {} weight after rows {} one; expected label:weight in every row or in none",
                      has_weight ? "with a" : "without a", has_weight ? "without" : "with"));
    }
    if (part->rows() > 0 && rows_ > 0 && has_group != grouped()) {
      return error(
          part->first_line(),
          fmt::format("a row {} a qid after rows {} one; expected label qid:ID in every row or in none",
                      has_group ? "with" : "without", has_group ? "without" : "with"));
    }
    if (part->error()) return error(part->error()->line, part->error()->what);
    for (const LibsvmPart::Group& group : part->groups())
      groups_.push_back({group.id, rows_ + group.row, {&path, *lines + group.line}});
    *lines += part->lines();
    if (part->rows() == 0) continue;
    first_rows_.push_back(rows_);
    rows_ += part->rows();
    parts_.push_back(std::move(part));
  }
  return absl::OkStatus();
}

std::vector<uint64_t> LibsvmTable::CountEntries(const ColumnOf& column_of) const {
  std::vector<uint64_t> counts(column_of.columns());
  for (const auto& part : parts_) {
    for (const LibsvmPart::Entry& entry : part->entries()) {
      const size_t column = column_of.Find(entry.index);
      if (column != ColumnOf::kNone) ++counts[column];
    }
  }
  return counts;
}

void LibsvmTable::MoveTo(const ColumnOf& column_of, const std::vector<bool>& sparse, int threads,
                         DataSet* data) {
  const auto rows = static_cast<size_t>(rows_);
  data->rows = rows_;
  data->categorical.assign(column_of.columns(), false);
  data->columns.resize(column_of.columns());
  ParallelFor(threads, column_of.columns(), [&](size_t column) {
    if (sparse.empty() || !sparse[column])
      data->columns[column].assign(rows, std::numeric_limits<float>::quiet_NaN());
  });
  if (!sparse.empty()) {
    const std::vector<uint64_t> counts = CountEntries(column_of);
    data->sparse.resize(column_of.columns());
    for (size_t column = 0; column < sparse.size(); ++column) {
      if (!sparse[column]) continue;
      data->sparse[column].used = true;
      data->sparse[column].rows.reserve(counts[column]);
      data->sparse[column].values.reserve(counts[column]);
    }
  }
  data->label.resize(rows);
  if (weighted()) data->weight.resize(rows);
  // The rows of a sparse column come in order.
  ParallelFor(sparse.empty() ? threads : 1, parts_.size(), [&](size_t i) {
    std::unique_ptr<LibsvmPart>& part = parts_[i];
    const auto first_row = static_cast<size_t>(first_rows_[i]);
    std::copy(part->label().begin(), part->label().end(), data->label.begin() + first_rows_[i]);
    std::copy(part->weight().begin(), part->weight().end(), data->weight.begin() + first_rows_[i]);
    size_t at = 0;
    for (size_t row = 0; row < part->row_ends().size(); ++row) {
      for (; at < part->row_ends()[row]; ++at) {
        const LibsvmPart::Entry& entry = part->entries()[at];
        const size_t column = column_of.Find(entry.index);
        if (column == ColumnOf::kNone) continue;
        if (sparse.empty() || !sparse[column])
          data->columns[column][first_row + row] = entry.value;
        else if (!std::isnan(entry.value))
          data->sparse[column].Add(static_cast<int64_t>(first_row + row), entry.value);
      }
    }
    part.reset();
  });
  parts_.clear();
}

// Chooses the sparse columns, from the entries of all ranks: [column], or empty if there are none.
absl::StatusOr<std::vector<bool>> SparseColumnsOf(const LibsvmTable& table, const ColumnOf& column_of,
                                                  const TableFacts& all, const std::string& path,
                                                  const PartReading& reading) {
  std::vector<bool> sparse;
  int64_t dense = static_cast<int64_t>(column_of.columns()), entries = 0;
  if (reading.form != TableForm::kDense && dense > kManySparseColumns) {
    const std::vector<uint64_t> mine = table.CountEntries(column_of);
    const auto counts =
        reading.exchange({reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(uint64_t)});
    if (!counts.ok()) return counts.status();
    std::vector<int64_t> total(mine.size());
    for (const std::string& one : *counts) {
      for (size_t column = 0; column < total.size(); ++column) {
        uint64_t count = 0;
        std::memcpy(&count, one.data() + column * sizeof count, sizeof count);
        total[column] += static_cast<int64_t>(count);
      }
    }
    for (const int64_t count : total) sparse.push_back(IsNearlyEmpty(count, all.rows));
    const int64_t many = std::count(sparse.begin(), sparse.end(), true);
    if (many > kManySparseColumns) {
      dense -= many;
      for (size_t column = 0; column < total.size(); ++column) entries += sparse[column] ? total[column] : 0;
    } else {
      sparse.clear();
    }
  }
  if (dense * all.rows > kMaxCells) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: {} rows of {} features that are not nearly empty need {} GiB; expected at most 8 GiB, "
        "which are {} such features",
        path, all.rows, dense, dense * all.rows >> 28, kMaxCells / all.rows));
  }
  if (entries > kMaxEntries) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} entries index:value; expected at most {}", path, entries, kMaxEntries));
  }
  return sparse;
}

}  // namespace

bool LooksLikeLibsvm(const SourceFile& file) {
  std::string_view name = file.path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  for (const std::string_view suffix : {".libsvm", ".svm", ".svmlight"}) {
    if (name.ends_with(suffix)) return true;
  }
  // The tokens of the first line that has one.
  std::vector<std::string_view> tokens;
  for (size_t at = 0; at < file.bytes.size() && tokens.empty();) {
    const size_t end = std::min(file.bytes.find_first_of("\r\n", at), file.bytes.size());
    std::string_view line = file.bytes.substr(at, end - at);
    line = line.substr(0, line.find('#'));
    at = end + 1;
    while (!(line = TrimBlanks(line)).empty()) {
      tokens.push_back(line.substr(0, line.find_first_of(" \t")));
      line.remove_prefix(tokens.back().size());
    }
  }
  if (tokens.empty() || !FiniteNumber(tokens[0].substr(0, tokens[0].find(':')))) return false;
  const size_t first = tokens.size() > 1 && tokens[1].starts_with("qid:") ? 2 : 1;
  return tokens.size() > first &&
         std::all_of(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end(),
                     [](std::string_view token) { return IsLibsvmEntry(token); });
}

absl::StatusOr<DataSet> ReadLibsvm(const std::vector<std::string>& paths, const PartReading& reading) {
  const std::string& path = paths.front();
  const DataOptions& options = reading.options;
  const DataSchema* const like = reading.like;
  if (like != nullptr) {
    for (const ColumnSchema& column : like->columns) {
      if (!IndexOf(column)) return NotOfLibsvm(path, column);
    }
  }
  if (absl::Status status = CheckOptions(path, options); !status.ok()) return status;
  LibsvmTable table;
  for (const std::string& each : paths) {
    if (absl::Status status = table.AddFile(each, reading.threads, options.to_predict); !status.ok())
      return status;
  }
  const absl::StatusOr<TableFacts> all =
      AgreeOnFacts(reading.path, table.Facts(), reading.rank, reading.exchange);
  if (!all.ok()) return all.status();
  if (all->rows == 0) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the file is empty; expected lines of label index:value", path));
  }
  if (all->weighted && !all->weighs && !options.to_predict) {
    return absl::InvalidArgumentError(
        fmt::format("{}: every weight in label:weight is 0; expected some above 0", path));
  }
  DataSet data;
  data.first_row = all->first_row;
  if (like != nullptr) {
    data.schema = *like;
  } else {
    if (all->largest < 0) {
      return absl::InvalidArgumentError(
          fmt::format("{}: no row has an index:value entry; expected some", path));
    }
    const int64_t first = std::min<int64_t>(all->smallest, 1);
    if (all->largest - first >= kMaxFeatures) {
      return absl::InvalidArgumentError(
          fmt::format("{}: the largest index is {}; expected at most {}, for {} features: number them "
                      "without gaps",
                      path, all->largest, first + kMaxFeatures - 1, kMaxFeatures));
    }
    for (int64_t index = first; index <= all->largest; ++index) {
      std::string name = fmt::format("f{}", index);
      const bool dropped = std::find(options.drop.begin(), options.drop.end(), name) != options.drop.end();
      if (!dropped) data.schema.columns.push_back({std::move(name), false, {}});
    }
  }
  ColumnOf column_of;
  for (size_t i = 0; i < data.schema.columns.size(); ++i) {
    const ColumnSchema& column = data.schema.columns[i];
    column_of.Add(*IndexOf(column), i);
    data.feature_names.push_back(column.name);
  }
  if (column_of.columns() == 0) {
    return absl::InvalidArgumentError(fmt::format("{}: drop leaves no feature; expected at least one", path));
  }
  const absl::StatusOr<std::vector<bool>> sparse = SparseColumnsOf(table, column_of, *all, path, reading);
  if (!sparse.ok()) return sparse.status();
  table.MoveTo(column_of, *sparse, reading.threads, &data);
  if (all->grouped && !options.to_predict) {
    absl::StatusOr<std::vector<int64_t>> begins = GroupBegins(table.groups(), data.rows);
    if (!begins.ok()) return begins.status();
    data.group_begin = *std::move(begins);
    if (absl::Status status = WeighGroups(path, data.group_begin, &data.weight); !status.ok()) return status;
  }
  return data;
}

}  // namespace winnow
