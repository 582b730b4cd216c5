#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace winnow {

// Columns of UTF-8 text whose characters all take one.
size_t CharacterCount(std::string_view text);

// `text` in lines of at most `width` columns, broken at blanks; a longer word has a line of its own. Its own line ends stay.
// `columns` measures a word.
std::string Wrap(std::string_view text, size_t width, size_t (*columns)(std::string_view) = CharacterCount);

}  // namespace winnow
