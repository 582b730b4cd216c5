#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow::cli {

constexpr char32_t kNoCharacter = 0xFFFD;
// Returns the first character and its bytes; kNoCharacter and 1 if not UTF-8. REQUIRES: `text` is not empty.
std::pair<char32_t, size_t> FirstCharacter(std::string_view text);

// Returns the columns of UTF-8 text on a terminal: 0 for combining marks, 2 for East Asian wide characters.
size_t DisplayWidth(std::string_view text);

// Returns `text` as it may be shown in a line, so that a trainer's output cannot move the cursor: control
// characters become blanks, invalid UTF-8 becomes U+FFFD.
std::string Clean(std::string_view text);

// Returns the longest front of `text` within `width` columns; ends it with "…" if something was cut. Keeps
// escape sequences of colour, which take no column.
std::string Fit(std::string_view text, size_t width);

}  // namespace winnow::cli
