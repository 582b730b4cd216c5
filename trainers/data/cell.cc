#include "trainers/data/cell.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/utf8.h"
#include "fmt/format.h"
#include "trainers/data/decimal.h"

namespace winnow {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != lower[i]) return false;
  }
  return true;
}

}  // namespace

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool IsMissingCell(std::string_view cell) {
  if (cell.empty() || cell == "?") return true;
  if (cell.size() > 4) return false;
  for (const std::string_view word : {"na", "n/a", "nan", "null"}) {
    if (EqualsIgnoringCase(cell, word)) return true;
  }
  return false;
}

CellKind ParseCell(std::string_view cell, float* value) {
  *value = kMissing;
  constexpr size_t kShort = 31;  // nearly all numbers are shorter
  if (cell.size() <= kShort) {
    char padded[kShort + 1 + kTextPadding] = {};
    cell.copy(padded, cell.size());
    if (ScanDecimal(padded, value) == padded + cell.size() && !cell.empty()) return CellKind::kNumber;
    *value = kMissing;
  }
  if (IsMissingCell(cell)) return CellKind::kMissing;
  std::string_view digits = cell;
  if (digits[0] == '+') {
    digits.remove_prefix(1);
    if (digits.empty() || digits[0] == '-') return CellKind::kText;
  }
  const char* const end = digits.data() + digits.size();
  float parsed = 0;
  std::from_chars_result result = std::from_chars(digits.data(), end, parsed);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) return CellKind::kText;
  if (result.ec == std::errc::result_out_of_range) {  // too large, or so small that it is nearly 0
    double wide = 0;
    result = std::from_chars(digits.data(), end, wide);
    const bool tiny = result.ec == std::errc() ? std::abs(wide) < 1
                                               : digits.find("e-") != std::string_view::npos ||
                                                     digits.find("E-") != std::string_view::npos;
    if (!tiny) return CellKind::kInfinite;
    parsed = static_cast<float>(wide);
  }
  if (std::isinf(parsed)) return CellKind::kInfinite;
  if (std::isnan(parsed)) return CellKind::kMissing;
  *value = parsed;
  return CellKind::kNumber;
}

std::string ToUtf8(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string utf8;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x80) {
      utf8 += c;
    } else {
      utf8 += static_cast<char>(0xc0 | (byte >> 6));
      utf8 += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return utf8;
}

std::string Excerpt(std::string_view text) {
  constexpr size_t kLimit = 60;
  std::string_view head = text.substr(0, kLimit);
  // Does not cut a character.
  while (head.size() < text.size() && !head.empty() &&
         (static_cast<uint8_t>(text[head.size()]) & 0xc0) == 0x80) {
    head.remove_suffix(1);
  }
  std::string shown;
  for (const char c : ToUtf8(head)) {
    if (c == '\n') {
      shown += "\\n";
    } else if (c == '\r') {
      shown += "\\r";
    } else if (c == '\t') {
      shown += "\\t";
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      shown += c;
    }
  }
  return head.size() < text.size() ? shown + "…" : shown;
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kShown = 30;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) list += (i > 0 ? ", " : "") + Excerpt(names[i]);
  if (names.size() > kShown) list += fmt::format(" and {} more", names.size() - kShown);
  return list;
}

}  // namespace winnow
