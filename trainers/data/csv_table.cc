#include "trainers/data/csv_table.h"

#include <algorithm>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/cell.h"
#include "trainers/data/column_plan.h"
#include "trainers/data/csv_cursor.h"
#include "trainers/data/csv_dialect.h"

namespace winnow {
namespace {

constexpr size_t kHeaderSample = 100;

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
