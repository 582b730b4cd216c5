#include "base/bounded_json.h"

namespace winnow {

using nlohmann::json;

json ParseBoundedJson(std::string_view text, int most) {
  bool deep = false;
  const auto shallow = [&deep, most](int depth, json::parse_event_t, const json&) {
    deep = deep || depth > most;
    return !deep;
  };
  json parsed = json::parse(text, shallow, /*allow_exceptions=*/false);
  return deep ? json(json::value_t::discarded) : parsed;
}

}  // namespace winnow
