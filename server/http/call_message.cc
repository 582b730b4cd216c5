#include "server/http/call_message.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "base/names.h"
#include "base/status_text.h"
#include "base/utf8.h"
#include "json/message_json.h"
#include "server/engine/answers/violations.h"
#include "server/grpc/errors.h"
#include "server/http/errors.h"
#include "spec/job_file.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {
namespace {

namespace pb = google::protobuf;

constexpr size_t kMostShown = 60;

std::string Shown(const std::string& text) {
  return "\"" + (text.size() > kMostShown ? text.substr(0, kMostShown) + "…" : text) + "\"";
}

std::string TypeName(const pb::FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return "a whole number";
    case pb::FieldDescriptor::CPPTYPE_UINT32:
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return "a whole number of at least 0";
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return "a number";
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return "text in UTF-8";
    case pb::FieldDescriptor::CPPTYPE_ENUM: {
      std::string names;
      for (int i = 0; i < field.enum_type()->value_count(); ++i) {
        const std::string& name = field.enum_type()->value(i)->name();
        if (!name.ends_with("_UNSPECIFIED")) names += (names.empty() ? "" : ", ") + name;
      }
      return "one of " + names;
    }
    default:
      if (field.message_type()->full_name() == "google.protobuf.Duration") return "a duration such as 1.5s";
      if (field.message_type()->full_name() == "google.protobuf.Timestamp")
        return "a time such as 2026-11-22T08:00:00Z";
      return field.message_type()->name();
  }
}

// Accepts words of enums in lower case, as in job files.
pb::util::JsonParseOptions ParseOptions() {
  pb::util::JsonParseOptions options;
  options.case_insensitive_enum_parsing = true;
  return options;
}

// Whether a person would read the text as a number: the JSON parser reads "" as 0 and " 1" as 1.
bool LooksRight(const pb::FieldDescriptor& field, const std::string& text) {
  if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) return true;
  return !text.empty() && text.find_first_of(" \t\r\n") == std::string::npos;
}

// Sets what most paths have, names and whole numbers, as the JSON parser would, which takes much longer.
// Returns false where it is to decide.
bool SetSimple(const pb::FieldDescriptor& field, const std::string& text, pb::Message& message) {
  if (field.is_repeated()) return false;
  if (field.type() == pb::FieldDescriptor::TYPE_STRING && IsUtf8(text)) {
    message.GetReflection()->SetString(&message, &field, text);
    return true;
  }
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (field.cpp_type() != pb::FieldDescriptor::CPPTYPE_INT64) return false;
  if (std::from_chars(text.data(), end, number).ptr != end || text.empty()) return false;
  if (std::to_string(number) != text) return false;
  message.GetReflection()->SetInt64(&message, &field, number);
  return true;
}

// Merges the text, or for a repeated field all texts, into `message`; returns whether that succeeded.
bool Merge(const pb::FieldDescriptor& field, const std::vector<std::string>& texts, pb::Message& message) {
  if (texts.size() == 1 && SetSimple(field, texts.front(), message)) return true;
  nlohmann::json value;
  for (const std::string& text : texts) {
    if (!LooksRight(field, text)) return false;
    nlohmann::json one = text;
    if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_BOOL) {
      if (text != "true" && text != "false") return false;
      one = text == "true";
    }
    if (field.is_repeated()) {
      value.push_back(std::move(one));
    } else {
      value = std::move(one);
    }
  }
  std::string json;
  try {
    json = nlohmann::json{{field.json_name(), std::move(value)}}.dump();
  } catch (const nlohmann::json::exception&) {
    return false;  // not UTF-8
  }
  MessagePtr part(message.New());
  if (!pb::util::JsonStringToMessage(json, part.get(), ParseOptions()).ok()) return false;
  message.GetReflection()->ClearField(&message, &field);
  message.MergeFrom(*part);
  return true;
}

const pb::FieldDescriptor* FindField(const pb::Descriptor& type, const std::string& name) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->json_name() == name || type.field(i)->name() == name) return type.field(i);
  }
  return nullptr;
}

// "unknown field of TYPE", and the fields that it has.
std::string UnknownOf(const char* what, const std::string& name, const pb::Descriptor& type) {
  std::vector<std::string> known;
  for (int i = 0; i < type.field_count(); ++i) known.push_back(type.field(i)->name());
  return fmt::format("unknown {} of {}{}", what, type.name(),
                     known.empty() ? ", which has none" : DidYouMean(name, known));
}

grpc::Status WrongValue(const pb::FieldDescriptor& field, const std::string& text) {
  return FieldError(field.name(), Shown(text) + "; expected " + TypeName(field));
}

grpc::Status ReadParameters(const std::vector<std::pair<std::string, std::string>>& parameters,
                            pb::Message& request) {
  std::vector<std::pair<const pb::FieldDescriptor*, std::vector<std::string>>> values;
  for (const auto& [name, text] : parameters) {
    const pb::FieldDescriptor* field = FindField(*request.GetDescriptor(), name);
    if (field == nullptr) {
      return FieldError(name, UnknownOf("parameter", name, *request.GetDescriptor()));
    }
    auto at =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.first == field; });
    if (at == values.end()) {
      values.push_back({field, {text}});
    } else if (field->is_repeated()) {
      at->second.push_back(text);
    } else {
      return FieldError(field->name(),
                        "is given twice, the second time as " + Shown(text) + "; expected once");
    }
  }
  for (const auto& [field, texts] : values) {
    if (!Merge(*field, texts, request)) return WrongValue(*field, texts.front());
  }
  return grpc::Status::OK;
}

// The field at "spec.limits" or "filters[0]" in a message, in either spelling; null: there is none, as within
// a map.
const pb::FieldDescriptor* FieldAt(std::string_view path, const pb::Descriptor& type) {
  const pb::Descriptor* at = &type;
  while (at != nullptr) {
    const size_t end = std::min(path.find('.'), path.size());
    const std::string_view name = path.substr(0, std::min(path.find('['), end));
    const pb::FieldDescriptor* field = FindField(*at, std::string(name));
    if (field == nullptr || field->is_map() || end == path.size()) return field;
    path.remove_prefix(end + 1);
    at = field->message_type();
  }
  return nullptr;
}

// The error for a name in the object at `place` ("": the body) that its message does not have.
grpc::Status UnknownField(std::string_view place, const std::string& name, const pb::Descriptor& type) {
  const pb::FieldDescriptor* field = place.empty() ? nullptr : FieldAt(place, type);
  const pb::Descriptor* of = place.empty() ? &type : field == nullptr ? nullptr : field->message_type();
  return FieldError(std::string(place) + (place.empty() ? "" : ".") + name,
                    of == nullptr ? "unknown field" : UnknownOf("field", name, *of));
}

// The text between two others; absent: it is not so.
std::optional<std::string> Between(std::string_view text, std::string_view before, std::string_view after) {
  if (!text.starts_with(before) || !text.ends_with(after) || text.size() < before.size() + after.size())
    return std::nullopt;
  return std::string(text.substr(before.size(), text.size() - before.size() - after.size()));
}

std::string ExpectedAt(std::string_view place, const pb::Descriptor& type) {
  const pb::FieldDescriptor* field = FieldAt(place, type);
  return field == nullptr ? "another value" : TypeName(*field);
}

// Turns what the JSON parser says into a violation, such as "(spec.name): invalid value 1 for type
// TYPE_STRING", "(limits) max: Cannot find field." or, of the body itself, "max: Cannot find field.".
grpc::Status JsonError(std::string_view message, const pb::Descriptor& type) {
  std::string place;
  std::string_view said = message;
  if (const size_t end = message.find(')'); message.starts_with('(') && end != std::string_view::npos) {
    place = message.substr(1, end - 1);
    said = message.substr(end + 1);
  }
  while (said.starts_with(' ')) said.remove_prefix(1);
  const auto within = [&place](const std::string& name) { return place.empty() ? name : place + "." + name; };
  if (const auto name = Between(said, "", ": Cannot find field.")) return UnknownField(place, *name, type);
  if (const auto name = Between(said, "", ": Proto field is not repeating, cannot start list."))
    return FieldError(within(*name), "is a list; expected " + ExpectedAt(within(*name), type));
  if (const auto name = Between(said, ": invalid value Starting an object on a scalar field for type ", ""))
    return FieldError(within(*name), "is an object; expected " + ExpectedAt(within(*name), type));
  if (const auto name = Between(said, ": invalid value oneof field '", "' for type oneof"))
    return FieldError(within(name->substr(name->rfind('\'') + 1)),
                      "is given beside another; expected one alone");
  if (said == ": Root element must be a message.") return FieldError("body", "expected an object");
  if (place.empty()) return FieldError("body", std::string(said));
  const size_t value_end = said.rfind(" for type ");
  constexpr std::string_view kInvalid = ": invalid value ";
  if (said.starts_with(kInvalid) && value_end != std::string_view::npos) {
    const std::string_view value = said.substr(kInvalid.size(), value_end - kInvalid.size());
    return FieldError(place, Shortened(value, kMostShown) + "; expected " + ExpectedAt(place, type));
  }
  return FieldError(place, std::string(said.substr(std::min(said.find_first_not_of(": "), said.size()))));
}

bool HasJob(const pb::Descriptor& type) {
  const pb::FieldDescriptor* field = FindField(type, "spec");
  return field != nullptr && field->message_type() == v1::TuningJobSpec::descriptor();
}

// What the reader of job files, which says what was expected, finds in a job that the JSON parser refused;
// OK: nothing.
grpc::Status JobError(const std::string& body, const pb::Descriptor& type) {
  if (!HasJob(type)) return grpc::Status::OK;
  std::vector<Violation> violations = ParseJobIn(body, "spec").violations;
  for (Violation& violation : violations)
    violation.field = violation.field == kWholeJob ? "spec" : "spec." + violation.field;
  return violations.empty() ? grpc::Status::OK : ToGrpc(ViolationsError(violations));
}

// The JSON parser takes what is no list for a list of one: of "command": "python3 train.py" it would make a
// program of that name.
grpc::Status CheckLists(const nlohmann::json& object, const pb::Descriptor& type, const std::string& place) {
  if (!object.is_object()) return grpc::Status::OK;
  const auto check_each = [](const auto& values, const pb::Descriptor& of, const auto& path_of) {
    grpc::Status status;
    for (const auto& [key, value] : values.items()) {
      if (status.ok()) status = CheckLists(value, of, path_of(key));
    }
    return status;
  };
  for (const auto& [name, value] : object.items()) {
    const pb::FieldDescriptor* field = FindField(type, name);
    if (field == nullptr || value.is_null()) continue;
    const std::string path = place.empty() ? name : place + "." + name;
    const bool list = field->is_repeated() && !field->is_map();
    if (list && !value.is_array())
      return FieldError(path, "is " + Shortened(value.dump(), kMostShown) + "; expected a list […]");
    const pb::FieldDescriptor* held = field->is_map() ? field->message_type()->map_value() : field;
    if (held->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const pb::Descriptor& of = *held->message_type();
    grpc::Status status;
    if (list)
      status = check_each(value, of, [&](const std::string& at) { return fmt::format("{}[{}]", path, at); });
    else if (field->is_map())
      status = check_each(value, of, [&](const std::string& at) { return fmt::format("{}.{}", path, at); });
    else
      status = CheckLists(value, of, path);
    if (!status.ok()) return status;
  }
  return grpc::Status::OK;
}

grpc::Status ReadBody(const std::string& body, pb::Message& request) {
  if (body.find_first_not_of(" \t\r\n") == std::string::npos) return grpc::Status::OK;  // empty: no fields
  const auto status = pb::util::JsonStringToMessage(body, &request, ParseOptions());
  if (status.ok()) {
    if (!HasJob(*request.GetDescriptor())) return grpc::Status::OK;
    return CheckLists(nlohmann::json::parse(body, nullptr, false), *request.GetDescriptor(), "");
  }
  const grpc::Status of_job = JobError(body, *request.GetDescriptor());
  return of_job.ok() ? JsonError(std::string(status.message()), *request.GetDescriptor()) : of_job;
}

}  // namespace

MessagePtr NewMessage(const pb::Descriptor& type) {
  return MessagePtr(pb::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

grpc::Status ReadCall(const RouteMatch& match,
                      const std::vector<std::pair<std::string, std::string>>& parameters,
                      const std::string& body, MessagePtr& request) {
  MessagePtr read = NewMessage(*match.route->method->input_type());
  grpc::Status status;
  if (match.route->verb == "POST") {
    if (!parameters.empty())
      return FieldError(parameters[0].first, "is a query parameter; expected in the body");
    status = ReadBody(body, *read);
  } else {
    if (!body.empty()) return FieldError("body", "is given; expected query parameters");
    status = ReadParameters(parameters, *read);
  }
  if (!status.ok()) return status;
  for (const auto& [field, text] : match.fields) {
    if (!Merge(*field, {text}, *read)) return WrongValue(*field, text);
  }
  request = std::move(read);
  return grpc::Status::OK;
}

grpc::ByteBuffer ToBytes(const pb::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

bool FromBytes(grpc::ByteBuffer bytes, pb::Message& message) {
  grpc::ProtoBufferReader reader(&bytes);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

grpc::Status ToJson(const pb::Descriptor& type, grpc::ByteBuffer bytes, std::string& json) {
  const MessagePtr message = NewMessage(type);
  if (!FromBytes(std::move(bytes), *message)) {
    return {grpc::StatusCode::INTERNAL, "an answer is no " + type.name()};
  }
  json = MessageJson(*message, JsonLayout::kOneLine);
  return grpc::Status::OK;
}

}  // namespace winnow
