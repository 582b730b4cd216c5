#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "json/message_json.h"

namespace winnow::cli {

// Winnow's JSON form of a message (json/message_json.h), "\n" at the end. `one_line`: without line breaks inside.
inline std::string ToJson(const google::protobuf::Message& message, bool one_line = false) {
  return one_line ? MessageJson(message, JsonLayout::kOneLine) + "\n" : MessageJson(message, JsonLayout::kIndented);
}

// A line of JSON for each message of a list.
template <class Messages>
std::string ToJsonLines(const Messages& messages) {
  std::string lines;
  for (const auto& message : messages) lines += ToJson(message, true);
  return lines;
}

}  // namespace winnow::cli
