#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow {

// A request's target: path and parameters, percent-decoded.
struct HttpTarget {
  std::vector<std::string> segments;  // of the path: "/a/b" gives a, b; "/" none; a trailing slash is ignored
  std::vector<std::pair<std::string, std::string>> parameters;  // in order; "+" is a blank
};

// The maximum number of parameters in a query.
inline constexpr size_t kMostParameters = 256;

// Absent if the text is not a path from "/" on, has an invalid percent sign, a segment "." or "..", a NUL, or
// too many parameters.
std::optional<HttpTarget> ParseTarget(std::string_view text);

}  // namespace winnow
