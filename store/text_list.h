#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace winnow {

// A list of texts in a column: JSON; "" for an empty one.
inline std::string JsonOfTexts(const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  return nlohmann::json(texts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// REQUIRES: written by JsonOfTexts.
inline std::vector<std::string> TextsFromJson(const std::string& text) {
  const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
  std::vector<std::string> texts;
  if (!parsed.is_array()) return texts;
  for (const nlohmann::json& each : parsed) {
    if (each.is_string()) texts.push_back(each.get<std::string>());
  }
  return texts;
}

}  // namespace winnow
