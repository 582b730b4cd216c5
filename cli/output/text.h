#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow::cli {

constexpr char32_t kNoCharacter = 0xFFFD;
// The character at the front of `text`, and its bytes; kNoCharacter and 1 if it is not UTF-8. REQUIRES text.
std::pair<char32_t, size_t> FirstCharacter(std::string_view text);

// Columns that UTF-8 text takes on a terminal: combining marks take none, East Asian wide characters two.
size_t DisplayWidth(std::string_view text);

// `text` as it may be shown in a line: control characters become blanks, bytes that are not UTF-8 become
// U+FFFD. So that what a trainer printed cannot move the cursor.
std::string Clean(std::string_view text);

// The front of `text` that takes at most `width` columns; "…" ends it if something was cut.
// Escape sequences of colour take no column and are kept.
std::string Fit(std::string_view text, size_t width);

// Letters put in, left out, replaced or swapped with their neighbour on the way from `a` to `b` (Damerau).
size_t EditDistance(std::string_view a, std::string_view b);

// Those of `known` that `word` may have meant: the nearest, at most three.
std::vector<std::string> Nearest(std::string_view word, const std::vector<std::string>& known);

// "a", "a or b", "a, b or c".
std::string OneOf(const std::vector<std::string>& words);

}  // namespace winnow::cli
