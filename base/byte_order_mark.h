#pragma once

#include <string_view>

namespace winnow {

// Returns the text without the byte order mark of UTF-8 at its front, which spreadsheets and some editors
// write.
inline std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace winnow
