#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace winnow {

// The text in a member of a JSON object; "": there is none, or it is no text.
inline std::string TextOf(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace winnow
