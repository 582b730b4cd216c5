#include "flags/wrap.h"

#include <algorithm>

namespace winnow {

size_t CharacterCount(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string Wrap(std::string_view text, size_t width, size_t (*columns)(std::string_view)) {
  std::string wrapped;
  size_t used = 0;
  while (!text.empty()) {
    const size_t end = text.find_first_of(" \n");
    const std::string_view word = text.substr(0, end);
    const size_t needed = columns(word);
    if (used > 0 && used + 1 + needed > width) {
      wrapped += '\n';
      used = 0;
    } else if (used > 0) {
      wrapped += ' ';
      ++used;
    }
    wrapped += word;
    used += needed;
    if (end == std::string_view::npos) break;
    if (text[end] == '\n') {
      wrapped += '\n';
      used = 0;
    }
    text.remove_prefix(end + 1);
  }
  return wrapped;
}

}  // namespace winnow
