#pragma once

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>
#include <string>

namespace winnow {

// JSON schemas of messages for OpenAPI's components: each requested message or enum and its parts, once.
class Schemas {
 public:
  using Json = nlohmann::ordered_json;

  // Returns a reference to the message's schema, or the schema itself for messages with a short JSON form:
  // times and durations.
  Json Of(const google::protobuf::Descriptor& type);
  // The schema of a field's value; of the array if it is repeated.
  Json Of(const google::protobuf::FieldDescriptor& field);

  const Json& all() const { return all_; }

 private:
  Json OfOne(const google::protobuf::FieldDescriptor& field);
  Json Of(const google::protobuf::EnumDescriptor& type);
  // The schema of a double: a number, or a word for NaN and the infinities.
  Json Real();
  // The schema of "int64" or "uint64".
  Json Whole(const std::string& format);

  Json all_ = Json::object();
};

// Returns the comments of a descriptor in its file, one line per paragraph; "": none.
template <typename Descriptor>
std::string CommentOf(const Descriptor& descriptor);

}  // namespace winnow
