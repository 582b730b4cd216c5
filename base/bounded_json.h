#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace winnow {

// Returns the JSON that others wrote. Discarded: it is no JSON, or nested deeper than `most` levels below its
// top; who copies or prints it would follow each level by a frame of the stack.
nlohmann::json ParseBoundedJson(std::string_view text, int most);

}  // namespace winnow
