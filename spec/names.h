#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// The known name that is nearest to `name` by edit distance, if it is near enough to be meant; else "".
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

// "; did you mean X?" with the nearest known name, or else "; expected one of A, B, C".
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known);

// The text; of one longer than `most` bytes its two ends, and how many bytes are left out between them.
std::string Shortened(std::string_view text, size_t most);

// In double quotes; a long text is shortened.
std::string Quoted(std::string_view text);

// "A, B, C"; of very many the first, and how many more there are.
std::string Joined(const std::vector<std::string>& names);

}  // namespace winnow
