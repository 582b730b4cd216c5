#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// The known names that are nearest to `name`, at most three: those that have it as a part, "max_trials" for
// "trials", else those that begin with it, else those at the least edit distance. Letters' case does not
// count.
std::vector<std::string> NearestNames(std::string_view name, const std::vector<std::string>& known);

// The first of them; "" if none is near.
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

// "; did you mean X?" with the nearest known name; "; expected one of A, B, C" if none is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known);

// The text. If it is longer than `most` bytes, its two ends and the number of bytes between them.
std::string Shortened(std::string_view text, size_t most);

// The text in double quotes, shortened.
std::string Quoted(std::string_view text);

// "A", "A or B", "A, B or C".
std::string OneOf(const std::vector<std::string>& names);

// "A, B, C". Of more than 100 names the first 100, and the number of the others.
std::string Joined(const std::vector<std::string>& names);

}  // namespace winnow
