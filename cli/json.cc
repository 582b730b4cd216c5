#include "cli/json.h"

#include <fmt/core.h>
#include <google/protobuf/util/json_util.h>

#include <cstdlib>

namespace winnow::cli {

std::string ToJson(const google::protobuf::Message& message, bool one_line) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = !one_line;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) {
    fmt::print(stderr, "winnow: {} has no JSON form\n", message.GetTypeName());
    std::abort();
  }
  if (json.empty() || json.back() != '\n') json += '\n';
  return json;
}

}  // namespace winnow::cli
