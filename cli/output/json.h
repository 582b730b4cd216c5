#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "json/message_json.h"

namespace winnow::cli {

// Returns a message as Winnow's JSON (json/message_json.h), with a final "\n". `one_line`: no inner line
// breaks.
inline std::string ToJson(const google::protobuf::Message& message, bool one_line = false) {
  return one_line ? MessageJson(message, JsonLayout::kOneLine) + "\n"
                  : MessageJson(message, JsonLayout::kIndented);
}

// Returns a line of JSON for each message of a list.
template <class Messages>
std::string ToJsonLines(const Messages& messages) {
  std::string lines;
  for (const auto& message : messages) lines += ToJson(message, true);
  return lines;
}

}  // namespace winnow::cli
