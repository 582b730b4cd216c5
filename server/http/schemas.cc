#include "server/http/schemas.h"

#include <algorithm>

namespace winnow {
namespace {

namespace pb = google::protobuf;
using Json = Schemas::Json;

// "winnow.v1.Trial.State" is named "Trial.State".
std::string NameOf(const std::string& full_name, const std::string& package) {
  return full_name.substr(package.size() + 1);
}

// A list that has its values by name beside it, see json/message_json.h.
bool IsHyperparameterList(const pb::FieldDescriptor& field) {
  return field.is_repeated() && field.name() == "hyperparameters" && field.message_type() != nullptr &&
         field.message_type()->name() == "HyperparameterValue";
}

Json ConfigurationSchema() {
  return {{"type", "object"},
          {"description", "The hyperparameters by name; those that do not exist in this trial are left out."},
          {"additionalProperties", {{"anyOf", {{{"type", "number"}}, {{"type", "string"}}}}}}};
}

Json Reference(const std::string& name) { return {{"$ref", "#/components/schemas/" + name}}; }

// Joins lines; empty lines separate paragraphs.
std::string Joined(const std::string& comment) {
  std::string text;
  for (size_t begin = 0; begin < comment.size();) {
    const size_t end = std::min(comment.find('\n', begin), comment.size());
    const size_t first = comment.find_first_not_of(' ', begin);
    const std::string line = first < end ? comment.substr(first, end - first) : "";
    begin = end + 1;
    if (!text.empty() && text.back() != '\n') text += line.empty() ? '\n' : ' ';
    text += line;
  }
  while (text.ends_with(' ') || text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

template <typename Descriptor>
std::string CommentOf(const Descriptor& descriptor) {
  pb::SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return "";
  const std::string before = Joined(location.leading_comments);
  const std::string behind = Joined(location.trailing_comments);
  return before.empty() || behind.empty() ? before + behind : before + " " + behind;
}
template std::string CommentOf(const pb::MethodDescriptor&);
template std::string CommentOf(const pb::FieldDescriptor&);
template std::string CommentOf(const pb::Descriptor&);
template std::string CommentOf(const pb::EnumDescriptor&);

Json Schemas::Real() {
  if (!all_.contains("Double")) {
    all_["Double"] = {{"description", "A number; NaN and the infinities are strings."},
                      {"anyOf",
                       {{{"type", "number"}, {"format", "double"}},
                        {{"type", "string"}, {"enum", {"NaN", "Infinity", "-Infinity"}}}}}};
  }
  return Reference("Double");
}

Json Schemas::Whole(const std::string& format) {
  const std::string name = format == "int64" ? "Int64" : "UInt64";
  if (!all_.contains(name)) {
    all_[name] = {
        {"description", "An integer; beyond 2^53 in size it is written as a string. Both are accepted."},
        {"anyOf",
         {{{"type", "integer"}, {"format", format}},
          {{"type", "string"}, {"pattern", format == "int64" ? "^-?[0-9]+$" : "^[0-9]+$"}}}}};
  }
  return Reference(name);
}

Json Schemas::Of(const pb::EnumDescriptor& type) {
  const std::string name = NameOf(type.full_name(), type.file()->package());
  if (!all_.contains(name)) {
    Json schema = {{"type", "string"}};
    if (const std::string comment = CommentOf(type); !comment.empty()) schema["description"] = comment;
    for (int i = 0; i < type.value_count(); ++i) schema["enum"].push_back(type.value(i)->name());
    all_[name] = std::move(schema);
  }
  return Reference(name);
}

Json Schemas::Of(const pb::Descriptor& type) {
  if (type.full_name() == "google.protobuf.Timestamp") return {{"type", "string"}, {"format", "date-time"}};
  if (type.full_name() == "google.protobuf.Duration") {
    return {{"type", "string"}, {"pattern", "^-?[0-9]+(\\.[0-9]{1,9})?s$"}, {"example", "1.5s"}};
  }
  const std::string name = NameOf(type.full_name(), type.file()->package());
  if (all_.contains(name)) return Reference(name);
  all_[name] = Json::object();  // ends the recursion for a recursive message
  Json schema = {{"type", "object"}};
  if (const std::string comment = CommentOf(type); !comment.empty()) schema["description"] = comment;
  schema["properties"] = Json::object();
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    Json property = Of(field);
    if (const std::string comment = CommentOf(field); !comment.empty()) {
      // OpenAPI ignores everything beside a reference.
      if (property.contains("$ref")) property = {{"allOf", Json::array({property})}};
      property["description"] = comment;
    }
    schema["properties"][field.name()] = std::move(property);
    if (IsHyperparameterList(field)) schema["properties"]["configuration"] = ConfigurationSchema();
  }
  all_[name] = std::move(schema);
  return Reference(name);
}

Json Schemas::Of(const pb::FieldDescriptor& field) {
  if (field.is_map()) {
    return {{"type", "object"}, {"additionalProperties", OfOne(*field.message_type()->map_value())}};
  }
  return field.is_repeated() ? Json{{"type", "array"}, {"items", OfOne(field)}} : OfOne(field);
}

Json Schemas::OfOne(const pb::FieldDescriptor& field) {
  switch (field.type()) {
    case pb::FieldDescriptor::TYPE_MESSAGE:
      return Of(*field.message_type());
    case pb::FieldDescriptor::TYPE_ENUM:
      return Of(*field.enum_type());
    case pb::FieldDescriptor::TYPE_BYTES:
      return {{"type", "string"}, {"format", "byte"}};
    default:
      break;
  }
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case pb::FieldDescriptor::CPPTYPE_INT32:
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return {{"type", "integer"}, {"format", "int32"}};
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return Whole("int64");
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return Whole("uint64");
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return Real();
    default:
      return {{"type", "string"}};
  }
}

}  // namespace winnow
