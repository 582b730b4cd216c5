#include "trainers/data/csv_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/cell.h"
#include "trainers/data/column_plan.h"
#include "trainers/data/csv_cursor.h"

namespace winnow {
namespace {

using CsvRecord = std::vector<std::string>;

// Returns the file's first records, at most `limit`; ends early at a record that cannot be read.
std::vector<CsvRecord> SampleRecords(const SourceFile& file, char separator, size_t limit) {
  CsvCursor cursor(file, separator);
  std::vector<CsvRecord> sample;
  std::vector<std::string_view> fields;
  while (sample.size() < limit && cursor.NextFields(&fields))
    sample.emplace_back(fields.begin(), fields.end());
  return sample;
}

constexpr size_t kDetectionRecords = 30;

struct Fit {
  size_t fields = 0;  // the most frequent number of fields
  double share = 0;   // fraction of the records with that number
};

Fit FitOf(const SourceFile& file, char separator) {
  std::map<size_t, int> counts;
  const std::vector<CsvRecord> sample = SampleRecords(file, separator, kDetectionRecords);
  for (const CsvRecord& record : sample) ++counts[record.size()];
  Fit fit;
  for (const auto& [fields, count] : counts) {
    const double share = count / static_cast<double>(sample.size());
    if (share >= fit.share) fit = {fields, share};
  }
  return fit;
}

bool AllDigits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Names that identify a header: those of the options and of the training data.
std::set<std::string> KnownNames(const DataOptions& options, const DataSchema* like) {
  std::set<std::string> names(options.drop.begin(), options.drop.end());
  names.insert(options.label);
  names.insert(options.weight);
  names.insert(options.training_weight);
  names.insert(options.group);
  if (like != nullptr) {
    for (const ColumnSchema& column : like->columns) names.insert(column.name);
  }
  std::erase_if(names, [](const std::string& name) { return name.empty() || AllDigits(name); });
  return names;
}

// Whether most values of a column below the first record are numbers; false if it has no values.
bool MostlyNumbers(const std::vector<CsvRecord>& sample, size_t column) {
  int numbers = 0, values = 0;
  for (size_t i = 1; i < sample.size(); ++i) {
    if (column >= sample[i].size()) continue;
    float value;
    const CellKind kind = ParseCell(sample[i][column], &value);
    values += kind != CellKind::kMissing;
    numbers += kind == CellKind::kNumber || kind == CellKind::kInfinite;
  }
  return numbers > 0 && numbers * 10 >= values * 9;
}

bool ComesAgain(const std::vector<CsvRecord>& sample, size_t column) {
  return std::any_of(sample.begin() + 1, sample.end(), [&](const CsvRecord& record) {
    return column < record.size() && record[column] == sample[0][column];
  });
}

// Returns the one of , ; tab | and blanks that separates the first lines most evenly; ',' if none does.
char DetectSeparator(const SourceFile& file) {
  // In order of preference: fields of other separators often contain a comma ("1,5;2,5").
  char best = ',';
  Fit best_fit;
  for (const char separator : {'\t', ';', '|', ','}) {
    const Fit fit = FitOf(file, separator);
    if (fit.fields < 2) continue;
    const bool richer = fit.share >= best_fit.share && fit.fields > best_fit.fields + 1;
    if (best_fit.fields == 0 || fit.share > best_fit.share || richer) {
      best = separator;
      best_fit = fit;
    }
  }
  if (best_fit.fields == 0 && FitOf(file, ' ').fields >= 2) return ' ';
  return best;
}

// Whether the first of `sample` contains column names: one of the columns named in `options` or `like`
// (nullable) is among them; or it has texts over columns of numbers; or, in a table of texts only, none of
// them occurs again below. Numbers among the names must count up from 0 or 1, as data frames number them.
bool LooksLikeHeader(const std::vector<CsvRecord>& sample, const DataOptions& options,
                     const DataSchema* like) {
  if (sample.empty()) return false;
  const CsvRecord& first = sample[0];
  const std::set<std::string> known = KnownNames(options, like);
  const auto is_known = [&](const std::string& field) { return known.count(ToUtf8(field)) > 0; };
  if (std::any_of(first.begin(), first.end(), is_known)) return true;

  float expected = -1;  // of the next number among the names; -1: none seen yet
  bool has_text = false, has_number = false, over_numbers = false, again = false;
  for (size_t i = 0; i < first.size(); ++i) {
    float value;
    const CellKind kind = ParseCell(first[i], &value);
    if (kind == CellKind::kText) {
      has_text = true;
      over_numbers = over_numbers || MostlyNumbers(sample, i);
      again = again || ComesAgain(sample, i);
    } else if (kind == CellKind::kNumber) {
      has_number = true;
      if (expected < 0 ? value != 0 && value != 1 : value != expected) return false;
      expected = value + 1;
    } else if (!first[i].empty()) {
      return false;
    }
  }
  if (!has_text) return false;
  return over_numbers || (!has_number && !again);
}

constexpr size_t kHeaderSample = 100;

// InvalidArgument if the first line is a comment: it begins with '#', and the next line has another number of
// fields.
absl::Status CheckFirstLine(const SourceFile& file, char separator) {
  CsvCursor cursor(file, separator);
  std::vector<std::string_view> fields;
  if (!cursor.NextFields(&fields) || !fields[0].starts_with('#')) return absl::OkStatus();
  const std::string first(fields[0]);
  const size_t count = fields.size();
  const int64_t line = cursor.record_line();
  if (!cursor.NextFields(&fields) || fields.size() == count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}:{}: \"{}\" has {} fields, and line {} has {}; expected column names or data first: "
                  "remove lines of comment",
                  file.path, line, Excerpt(first), count, cursor.record_line(), fields.size()));
}

std::string UnnamedName(size_t position) { return fmt::format("unnamed_{}", position); }

bool SameNames(const std::vector<std::string_view>& fields, const std::vector<std::string>& names,
               const std::vector<bool>& unnamed) {
  if (fields.size() != names.size()) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (unnamed[i] ? !fields[i].empty() : ToUtf8(fields[i]) != names[i]) return false;
  }
  return true;
}

}  // namespace

std::string SeparatorName(char separator) {
  return separator == '\t' ? "a tab" : separator == ' ' ? "blanks" : fmt::format("'{}'", separator);
}

absl::StatusOr<CsvTable> CsvTable::Open(const SourceFile& first_file, const DataOptions& options,
                                        const DataSchema* like) {
  CsvTable table;
  table.path_ = first_file.path;
  table.separator_ = options.separator == "auto" ? DetectSeparator(first_file) : options.separator[0];
  const std::vector<CsvRecord> sample = SampleRecords(first_file, table.separator_, kHeaderSample);
  if (sample.empty()) {
    std::vector<std::string_view> fields;
    CsvCursor cursor(first_file, table.separator_);
    cursor.NextFields(&fields);
    if (cursor.error()) {
      return absl::InvalidArgumentError(
          fmt::format("{}:{}: {}", first_file.path, cursor.error()->line, cursor.error()->what));
    }
    return absl::InvalidArgumentError(fmt::format(
        "{}: the file is empty; expected a line of column names and lines of data", first_file.path));
  }
  if (absl::Status status = CheckFirstLine(first_file, table.separator_); !status.ok()) return status;
  table.has_header_ =
      options.header == "yes" || (options.header == "auto" && LooksLikeHeader(sample, options, like));
  table.header_repeats_ = options.header == "yes";
  for (size_t i = 0; i < sample[0].size(); ++i) {
    const bool unnamed = table.has_header_ && sample[0][i].empty();
    table.unnamed_.push_back(unnamed);
    table.names_.push_back(!table.has_header_ ? PositionName(i)
                           : unnamed          ? UnnamedName(i)
                                              : ToUtf8(sample[0][i]));
    table.text_.push_back(
        std::any_of(sample.begin() + table.has_header_, sample.end(), [&](const CsvRecord& record) {
          float ignored;
          return i < record.size() && ParseCell(record[i], &ignored) == CellKind::kText;
        }));
  }
  return table;
}

absl::StatusOr<CsvTable::Begin> CsvTable::FindBegin(const SourceFile& text) const {
  CsvCursor cursor(text, separator_);
  std::vector<std::string_view> fields;
  if (!has_header_ || !cursor.NextFields(&fields)) return Begin();
  if (SameNames(fields, names_, unnamed_)) return Begin{cursor.offset(), cursor.line() - 1};
  if (header_repeats_ || LooksLikeHeader(SampleRecords(text, separator_, kHeaderSample), {}, nullptr)) {
    return absl::InvalidArgumentError(fmt::format(
        "{}:{}: the columns are not those of {}, \"{}\"; expected the same names in the same order",
        text.path, cursor.record_line(), path_, Excerpt(fmt::format("{}", fmt::join(names_, ",")))));
  }
  return Begin();
}

}  // namespace winnow
