#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace winnow {

// Parses JSON that another program wrote. Returns a discarded value if `text` is no JSON, or is nested more
// than `most` levels below its top: to copy or print a deeper value could overflow the stack.
nlohmann::json ParseBoundedJson(std::string_view text, int most);

}  // namespace winnow
