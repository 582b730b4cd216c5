#include "worker/data/csv_table.h"

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/data/cell.h"
#include "worker/data/column_plan.h"
#include "worker/data/csv_cursor.h"
#include "worker/data/csv_dialect.h"

namespace winnow {
namespace {

constexpr size_t kHeaderSample = 100;

std::string UnnamedName(size_t position) { return fmt::format("unnamed_{}", position); }

std::string SeparatorName(char separator) {
  return separator == '\t' ? "a tab" : separator == ' ' ? "blanks" : fmt::format("'{}'", separator);
}

bool SameNames(const std::vector<std::string_view>& fields, const std::vector<std::string>& names,
               const std::vector<bool>& unnamed) {
  if (fields.size() != names.size()) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (unnamed[i] ? !fields[i].empty() : ToUtf8(fields[i]) != names[i]) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<CsvTable> CsvTable::Open(const std::vector<SourceFile>* files, const DataOptions& options,
                                        const DataSchema* like) {
  CsvTable table;
  table.files_ = files;
  const SourceFile& first_file = files->front();
  table.separator_ = options.separator == "auto" ? DetectSeparator(first_file) : options.separator[0];
  const std::vector<CsvRecord> sample = SampleRecords(first_file, table.separator_, kHeaderSample);
  if (sample.empty()) {
    std::vector<std::string_view> fields;
    const absl::StatusOr<bool> more = CsvCursor(&first_file, table.separator_).Next(&fields);
    if (!more.ok()) return more.status();
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
  }
  return table;
}

absl::Status CsvTable::ForEachRecord(const RecordFn& fn) const {
  std::vector<std::string_view> fields;
  for (const SourceFile& file : *files_) {
    CsvCursor cursor(&file, separator_);
    bool first = true;
    for (;; first = false) {
      const absl::StatusOr<bool> more = cursor.Next(&fields);
      if (!more.ok()) return more.status();
      if (!*more) break;
      if (first && has_header_) {
        if (SameNames(fields, names_, unnamed_)) continue;
        const bool other_header =
            header_repeats_ || LooksLikeHeader(SampleRecords(file, separator_, kHeaderSample), {}, nullptr);
        if (other_header) {
          return absl::InvalidArgumentError(fmt::format(
              "{}:{}: the columns are not those of {}, \"{}\"; expected the same names in the same order",
              file.path, cursor.line(), path(), Excerpt(fmt::format("{}", fmt::join(names_, ",")))));
        }
      }
      if (fields.size() != names_.size()) {
        return absl::InvalidArgumentError(fmt::format(
            "{}:{}: {} fields found, expected {} as in the first line{} (fields are separated by {})",
            file.path, cursor.line(), fields.size(), names_.size(),
            &file == &files_->front() ? "" : " of " + path(), SeparatorName(separator_)));
      }
      if (absl::Status status = fn({&file, cursor.line()}, fields); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow
