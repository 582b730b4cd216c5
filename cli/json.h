#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace winnow::cli {

// The proto3 JSON form with the field names of the .proto and every plain field, "\n" at the end.
// `one_line`: without line breaks inside.
std::string ToJson(const google::protobuf::Message& message, bool one_line = false);

}  // namespace winnow::cli
