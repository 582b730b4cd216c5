#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow {

// What stands behind the method in a request: a path and parameters, their percent signs resolved.
struct HttpTarget {
  std::vector<std::string>
      segments;  // of the path: "/a/b" gives a, b; "/" none; a last slash counts for nothing
  std::vector<std::pair<std::string, std::string>> parameters;  // in order; "+" is a blank
};

// The longest query that is read, in parameters.
inline constexpr size_t kMostParameters = 256;

// Nothing if the text is no path from "/" on, has a broken percent sign, a segment "." or "..", a NUL, or too
// many parameters.
std::optional<HttpTarget> ParseTarget(std::string_view text);

}  // namespace winnow
