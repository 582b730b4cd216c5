#include "cli/output/log_text.h"

#include <algorithm>
#include <utility>

#include "cli/output/text.h"

namespace winnow::cli {
namespace {

constexpr char kEscape = '\x1b';
constexpr size_t kLongestSequence = 64;
constexpr size_t kCut = std::string_view::npos;

bool Within(char c, char first, char last) { return first <= c && c <= last; }

// Returns the bytes of the escape sequence at the front of `text` (ECMA-48): a whole control sequence; of
// others the escape and its introducer, and the rest stays as text. kCut: it may continue in the next piece.
size_t EscapeLength(std::string_view text) {
  if (text.size() < 2) return kCut;
  if (text[1] != '[') return Within(text[1], '@', '_') ? 2 : 1;
  size_t end = 2;
  while (end < text.size() && Within(text[end], ' ', '?')) ++end;
  if (end > kLongestSequence) return 2;
  if (end == text.size()) return kCut;
  return Within(text[end], '@', '~') ? end + 1 : end;
}

// Whether the bytes are a proper prefix of a character.
bool IsCutCharacter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
  if (lead > 0xF4 || text.size() >= length) return false;
  for (const char c : text.substr(1)) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) return false;
  }
  return true;
}

}  // namespace

std::string LogText::Add(std::string_view piece) {
  rest_ += piece;
  return Read(false);
}

std::string LogText::Finish() { return Read(true); }

std::string LogText::Read(bool last) {
  std::string text;
  std::string_view rest = rest_;
  while (!rest.empty()) {
    if (rest.front() == kEscape) {
      size_t skipped = EscapeLength(rest);
      if (skipped == kCut && !last) break;
      rest.remove_prefix(std::min(skipped, rest.size()));
      continue;
    }
    if (!last && IsCutCharacter(rest)) break;
    const auto [c, bytes] = FirstCharacter(rest);
    const bool after_return = std::exchange(line_ended_, c == '\r');
    if (c == '\n' || c == '\r') {
      if (c == '\r' || !after_return) text += '\n';
    } else if (c == '\t') {
      text += '\t';
    } else {
      text += Clean(rest.substr(0, bytes));
    }
    rest.remove_prefix(bytes);
  }
  rest_ = std::string(rest);
  return text;
}

}  // namespace winnow::cli
