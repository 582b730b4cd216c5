#pragma once

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>
#include <string>

namespace winnow {

// JSON schemas of messages, as OpenAPI's components name them: each message or enum that was asked for, and
// what it is made of, once.
class Schemas {
 public:
  using Json = nlohmann::ordered_json;

  // A reference to the message's schema, or the schema itself where JSON has a short form: times and
  // durations.
  Json Of(const google::protobuf::Descriptor& type);
  // Of a field's value; of all values if it is repeated.
  Json Of(const google::protobuf::FieldDescriptor& field);

  const Json& all() const { return all_; }

 private:
  Json OfOne(const google::protobuf::FieldDescriptor& field);
  Json Of(const google::protobuf::EnumDescriptor& type);
  // The schema of a double: a number, or a word for those that JSON has not.
  Json Real();
  // The schema of "int64" or "uint64".
  Json Whole(const std::string& format);

  Json all_ = Json::object();
};

// The words that stand above and beside a descriptor in its file, on one line each paragraph; "": none.
template <typename Descriptor>
std::string CommentOf(const Descriptor& descriptor);

}  // namespace winnow
