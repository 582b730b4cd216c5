#include "server/reads/imports/csv_file.h"

#include <csv.h>
#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/byte_order_mark.h"

namespace winnow {
namespace {

constexpr int64_t kMostBytes = 64 << 20;
constexpr size_t kMostFields = 2'000'000;
constexpr size_t kChunkBytes = 64 << 10;

struct Rows {
  std::vector<std::vector<std::string>> all;
  std::vector<std::string> current;
  size_t fields = 0;
};

void OnField(void* text, size_t size, void* rows) {
  auto* r = static_cast<Rows*>(rows);
  if (++r->fields <= kMostFields) r->current.emplace_back(static_cast<const char*>(text), size);
}
void OnRow(int, void* rows) {
  auto* r = static_cast<Rows*>(rows);
  r->all.push_back(std::exchange(r->current, {}));
}

absl::StatusOr<Rows> Parse(const ForeignFile& file, const GoOn& go_on) {
  if (file.bytes() > kMostBytes) {
    return absl::InvalidArgumentError(
        fmt::format("has {} bytes; expected at most {}", file.bytes(), kMostBytes));
  }
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) {
    return absl::ResourceExhaustedError("out of memory");
  }
  std::unique_ptr<csv_parser, decltype(&csv_free)> free(&parser, csv_free);
  Rows rows;
  bool whole = true;
  std::vector<char> chunk(kChunkBytes);
  // Not beyond its length when it was opened: it may grow.
  for (int64_t offset = 0; whole && offset < file.bytes();) {
    if (absl::Status status = go_on(); !status.ok()) return status;
    const size_t wanted = std::min<size_t>(chunk.size(), file.bytes() - offset);
    const ssize_t got = pread(file.descriptor(), chunk.data(), wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::InvalidArgumentError("cannot be read");
    if (got == 0) break;
    std::string_view text(chunk.data(), got);
    if (offset == 0 && (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")))
      return absl::InvalidArgumentError("is text in UTF-16; expected UTF-8");
    if (offset == 0) text = WithoutByteOrderMark(text);
    whole = csv_parse(&parser, text.data(), text.size(), OnField, OnRow, &rows) == text.size();
    if (rows.fields > kMostFields) {
      return absl::InvalidArgumentError(fmt::format("has more than {} fields, the maximum", kMostFields));
    }
    offset += got;
  }
  whole = whole && csv_fini(&parser, OnField, OnRow, &rows) == 0;
  if (whole) return rows;
  const int error = csv_error(&parser);
  return absl::InvalidArgumentError(fmt::format(
      "row {}: {}", rows.all.size() + 1,
      error == CSV_EPARSE
          ? "a quote is not closed, or is within a field; expected it around a field, and twice within"
          : csv_strerror(error)));
}

}  // namespace

absl::StatusOr<CsvFile> ReadCsvFile(const ForeignFile& file, const GoOn& go_on) {
  absl::StatusOr<Rows> rows = Parse(file, go_on);
  if (!rows.ok()) return rows.status();
  if (rows->all.empty()) return absl::InvalidArgumentError("is empty; expected a header");
  CsvFile table;
  table.header = std::move(rows->all.front());
  std::map<std::string_view, size_t> columns;
  for (size_t i = 0; i < table.header.size(); ++i) {
    const auto [other, first] = columns.emplace(table.header[i], i);
    if (!first) {
      return absl::InvalidArgumentError(fmt::format(
          "has two columns, {} and {}, of one name; expected each name once", other->second + 1, i + 1));
    }
  }
  for (size_t i = 1; i < rows->all.size(); ++i) {
    if (rows->all[i].size() != table.header.size()) {
      return absl::InvalidArgumentError(
          fmt::format("row {} has {} fields; expected {}, as in the header, with commas between them", i + 1,
                      rows->all[i].size(), table.header.size()));
    }
    table.rows.push_back(std::move(rows->all[i]));
  }
  return table;
}

}  // namespace winnow
