#include "worker/metrics/text_records.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "base/byte_order_mark.h"
#include "nlohmann/json.hpp"

namespace winnow {
namespace {

constexpr size_t kMostValues = 1000;
constexpr int kMostDepth = 8;

// A number that JSON cannot write: "NaN", "-inf".
std::optional<double> NotFinite(std::string_view word) {
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  const absl::string_view text(word.data(), word.size());
  if (absl::EqualsIgnoreCase(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (!absl::EqualsIgnoreCase(text, "inf") && !absl::EqualsIgnoreCase(text, "infinity")) return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return negative ? -infinity : infinity;
}

// Quotes the words NaN and Infinity outside of strings, so that it is JSON.
std::string Quoted(std::string_view line) {
  std::string json;
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string && c == '\\' && i + 1 < line.size()) {
      json += c;
      json += line[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (!in_string && (c == 'N' || c == 'I' || c == '-')) {
      bool found = false;
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity", "-NaN"}) {
        if (!line.substr(i).starts_with(word)) continue;
        json.append("\"").append(word).append("\"");
        i += word.size() - 1;
        found = true;
        break;
      }
      if (found) continue;
    }
    json += c;
  }
  return json;
}

void Flatten(const nlohmann::json& object, const std::string& prefix, int depth, MetricRecord& record) {
  for (const auto& [name, value] : object.items()) {
    if (record.values.size() >= kMostValues) return;
    if (value.is_object()) {
      if (depth < kMostDepth) Flatten(value, prefix + name + ".", depth + 1, record);
    } else if (value.is_number()) {
      record.values.emplace_back(prefix + name, value.get<double>());
    } else if (value.is_string()) {
      const auto number = NotFinite(value.get_ref<const std::string&>());
      if (number) record.values.emplace_back(prefix + name, *number);
    }
  }
}

// Discarded: it is no JSON.
nlohmann::json ParsedJson(std::string_view text) {
  const bool odd =
      text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
  return odd ? nlohmann::json::parse(Quoted(text), nullptr, false)
             : nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
}

MetricRecord JsonRecordOf(const nlohmann::json& object) {
  MetricRecord record;
  Flatten(object, "", 1, record);
  return record;
}

}  // namespace

std::optional<MetricRecord> ReadJsonRecord(std::string_view line) {
  line = WithoutByteOrderMark(line);
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || line[begin] != '{') return std::nullopt;
  const nlohmann::json json = ParsedJson(line.substr(begin));
  if (!json.is_object()) return std::nullopt;
  return JsonRecordOf(json);
}

std::vector<MetricRecord> ReadJsonRecords(std::string_view text) {
  const nlohmann::json json = ParsedJson(WithoutByteOrderMark(text));
  std::vector<MetricRecord> records;
  if (json.is_object()) records.push_back(JsonRecordOf(json));
  for (size_t i = 0; json.is_array() && i < json.size(); ++i) {
    if (json[i].is_object()) records.push_back(JsonRecordOf(json[i]));
  }
  return records;
}

std::vector<std::string> ReadCsvCells(std::string_view line) {
  line = WithoutByteOrderMark(line);
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
  return cells;
}

MetricRecord ReadCsvRecord(const std::vector<std::string>& header, std::string_view line) {
  MetricRecord record;
  const std::vector<std::string> cells = ReadCsvCells(line);
  for (size_t i = 0; i < std::min({cells.size(), header.size(), kMostValues}); ++i) {
    double value = 0;
    const bool is_number =
        cells[i].find_first_of("xX") == std::string::npos && absl::SimpleAtod(cells[i], &value);
    if (is_number) record.values.emplace_back(header[i], value);
  }
  return record;
}

}  // namespace winnow
