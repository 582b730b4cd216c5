#include "cli/output/text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace winnow::cli {
namespace {

struct Interval {
  char32_t first;
  char32_t last;
};

// Unicode 15, the relevant blocks: combining marks and joiners, and wide (East_Asian_Width W and F).
constexpr std::array<Interval, 7> kZero = {{{0x0300, 0x036F},
                                            {0x1AB0, 0x1AFF},
                                            {0x1DC0, 0x1DFF},
                                            {0x200B, 0x200F},
                                            {0x20D0, 0x20FF},
                                            {0xFE00, 0xFE0F},
                                            {0xFE20, 0xFE2F}}};
constexpr std::array<Interval, 11> kWide = {{{0x1100, 0x115F},
                                             {0x2E80, 0x303E},
                                             {0x3041, 0xA4CF},
                                             {0xAC00, 0xD7A3},
                                             {0xF900, 0xFAFF},
                                             {0xFE30, 0xFE6F},
                                             {0xFF00, 0xFF60},
                                             {0xFFE0, 0xFFE6},
                                             {0x1F300, 0x1F64F},
                                             {0x1F900, 0x1F9FF},
                                             {0x20000, 0x3FFFD}}};

template <size_t N>
bool In(char32_t c, const std::array<Interval, N>& intervals) {
  return std::any_of(intervals.begin(), intervals.end(),
                     [c](Interval i) { return i.first <= c && c <= i.last; });
}

size_t Width(char32_t c) {
  if (In(c, kZero)) return 0;
  return In(c, kWide) ? 2 : 1;
}

// Returns the bytes of the colour sequence at the front of `text` (ESC [ … m); 0 if there is none.
size_t ColourSequence(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

std::pair<char32_t, size_t> FirstCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {kNoCharacter, 1};
  char32_t c = lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kNoCharacter, 1};
    c = (c << 6) | (byte(i) & 0x3F);
  }
  const bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  if (overlong || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return {kNoCharacter, 1};
  return {c, length};
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    if (const size_t skip = ColourSequence(text); skip > 0) {
      text.remove_prefix(skip);
      continue;
    }
    const auto [c, bytes] = FirstCharacter(text);
    width += Width(c);
    text.remove_prefix(bytes);
  }
  return width;
}

std::string Clean(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const auto [c, bytes] = FirstCharacter(text);
    if (c < 0x20 || (c >= 0x7F && c < 0xA0)) {
      clean += ' ';
    } else if (c == kNoCharacter) {
      clean += "\uFFFD";
    } else {
      clean += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return clean;
}

std::string Fit(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string fitted;
  size_t used = 0;
  bool cut = false;
  while (!text.empty()) {
    if (const size_t skip = ColourSequence(text); skip > 0) {
      fitted += text.substr(0, skip);
      text.remove_prefix(skip);
      continue;
    }
    const auto [c, bytes] = FirstCharacter(text);
    if (!cut && used + Width(c) + 1 <= width) {
      fitted += text.substr(0, bytes);
      used += Width(c);
    } else if (!cut) {
      cut = true;
      if (width > 0) fitted += "…";
    }
    text.remove_prefix(bytes);
  }
  return fitted;
}

}  // namespace winnow::cli
