#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace winnow {

// What stands under the names, one within the other; null if something on the way is absent or no object.
template <class... Names>
const nlohmann::json& FieldAt(const nlohmann::json& object, const Names&... names) {
  static const nlohmann::json nothing;
  const nlohmann::json* at = &object;
  for (const char* name : {static_cast<const char*>(names)...}) {
    if (!at->is_object()) return nothing;
    const auto found = at->find(name);
    if (found == at->end()) return nothing;
    at = &*found;
  }
  return *at;
}

// "" and 0 if it is absent or of another type.
template <class... Names>
std::string TextAt(const nlohmann::json& object, const Names&... names) {
  const nlohmann::json& value = FieldAt(object, names...);
  return value.is_string() ? value.get<std::string>() : "";
}

template <class... Names>
int64_t NumberAt(const nlohmann::json& object, const Names&... names) {
  const nlohmann::json& value = FieldAt(object, names...);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

}  // namespace winnow
