#include "store/csv_file.h"

#include <csv.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

namespace winnow {
namespace {

constexpr uintmax_t kMostBytes = 64 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct Rows {
  std::vector<std::vector<std::string>> all;
  std::vector<std::string> current;
};

void OnField(void* text, size_t size, void* rows) {
  static_cast<Rows*>(rows)->current.emplace_back(static_cast<const char*>(text), size);
}
void OnRow(int, void* rows) {
  auto* r = static_cast<Rows*>(rows);
  r->all.push_back(std::exchange(r->current, {}));
}

absl::StatusOr<std::string> ReadAll(const std::string& file) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (error) return absl::InvalidArgumentError("cannot be read: " + error.message());
  if (size > kMostBytes) {
    return absl::InvalidArgumentError(fmt::format("has {} bytes; expected at most {}", size, kMostBytes));
  }
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return absl::InvalidArgumentError("cannot be read");
  std::string all = std::move(text).str();
  if (all.starts_with(kByteOrderMark)) all.erase(0, kByteOrderMark.size());
  return all;
}

absl::StatusOr<Rows> Parse(const std::string& text) {
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) {
    return absl::ResourceExhaustedError("out of memory");
  }
  std::unique_ptr<csv_parser, decltype(&csv_free)> free(&parser, csv_free);
  Rows rows;
  const bool whole = csv_parse(&parser, text.data(), text.size(), OnField, OnRow, &rows) == text.size() &&
                     csv_fini(&parser, OnField, OnRow, &rows) == 0;
  if (whole) return rows;
  return absl::InvalidArgumentError(
      fmt::format("row {}: {}", rows.all.size() + 1, csv_strerror(csv_error(&parser))));
}

}  // namespace

absl::StatusOr<CsvFile> ReadCsvFile(const std::string& file) {
  absl::StatusOr<std::string> text = ReadAll(file);
  if (!text.ok()) return text.status();
  absl::StatusOr<Rows> rows = Parse(*text);
  if (!rows.ok()) return rows.status();
  if (rows->all.empty()) return absl::InvalidArgumentError("is empty; expected a header");
  CsvFile table;
  table.header = std::move(rows->all.front());
  std::set<std::string> names;
  for (const std::string& name : table.header) {
    if (!names.insert(name).second) {
      return absl::InvalidArgumentError(fmt::format("has column \"{}\" twice; expected each once", name));
    }
  }
  for (size_t i = 1; i < rows->all.size(); ++i) {
    if (rows->all[i].size() != table.header.size()) {
      return absl::InvalidArgumentError(fmt::format("row {} has {} fields; expected {}, as in the header",
                                                    i + 1, rows->all[i].size(), table.header.size()));
    }
    table.rows.push_back(std::move(rows->all[i]));
  }
  return table;
}

}  // namespace winnow
