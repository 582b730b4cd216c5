#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace winnow {

// Returns the columns of UTF-8 text in which each character takes one.
size_t CharacterCount(std::string_view text);

// Returns `text` in lines of at most `width` columns, broken at blanks; a longer word has its own line. Keeps
// its line ends. `columns` measures a word.
std::string Wrap(std::string_view text, size_t width, size_t (*columns)(std::string_view) = CharacterCount);

}  // namespace winnow
