#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// The known name that is nearest to `name` by edit distance, if it is near enough to be meant; else "".
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

// "; did you mean X?" with the nearest known name, or else "; expected one of A, B, C".
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known);

// In double quotes.
std::string Quoted(std::string_view text);

// "A, B, C"
std::string Joined(const std::vector<std::string>& names);

}  // namespace winnow
