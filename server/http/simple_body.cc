#include "server/http/simple_body.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace winnow {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;
using nlohmann::json;

// Seconds with at most nine decimals, as 1.5s; the longest that protobuf allows has more digits.
bool ReadDuration(const json& value, pb::Message& message) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  constexpr size_t kMostDigits = 9;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto whole = std::find_if_not(text.begin(), text.end(), is_digit);
  auto end = whole;
  if (end != text.end() && *end == '.') end = std::find_if_not(end + 1, text.end(), is_digit);
  const size_t digits = static_cast<size_t>(whole - text.begin());
  const size_t decimals = end == whole ? 0 : static_cast<size_t>(end - whole - 1);
  if (digits < 1 || digits > kMostDigits || decimals > kMostDigits || (end != whole && decimals == 0))
    return false;
  if (std::string_view(text).substr(static_cast<size_t>(end - text.begin())) != "s") return false;
  return pb::util::TimeUtil::FromString(text, static_cast<pb::Duration*>(&message));
}

// Reads one object after the other.
class Reader {
 public:
  bool Read(const json& object, pb::Message& message) {
    if (message.GetDescriptor() == pb::Duration::descriptor()) return ReadDuration(object, message);
    if (!object.is_object() || message.GetDescriptor()->file()->package() == "google.protobuf") return false;
    std::vector<const Field*> seen;  // by either of their names
    for (const auto& [name, value] : object.items()) {
      ++names_;
      const Field* const field = Find(name, *message.GetDescriptor());
      if (field == nullptr || std::find(seen.begin(), seen.end(), field) != seen.end()) return false;
      seen.push_back(field);
      if (!Set(value, *field, message)) return false;
    }
    return true;
  }

  // The number of members of all objects that were read.
  int64_t names() const { return names_; }

 private:
  static const Field* Find(const std::string& name, const pb::Descriptor& type) {
    if (const Field* field = type.FindFieldByName(name)) return field;
    for (int i = 0; i < type.field_count(); ++i) {
      if (type.field(i)->json_name() == name) return type.field(i);
    }
    return nullptr;
  }

  bool Set(const json& value, const Field& field, pb::Message& message) {
    const pb::Reflection& r = *message.GetReflection();
    if (field.is_map()) return false;
    if (field.is_repeated()) {
      return value.is_array() && std::all_of(value.begin(), value.end(),
                                             [&](const json& one) { return Add(one, field, message); });
    }
    if (field.real_containing_oneof() != nullptr && r.HasOneof(message, field.real_containing_oneof()))
      return false;
    switch (field.cpp_type()) {
      case Field::CPPTYPE_STRING:
        if (field.type() != Field::TYPE_STRING || !value.is_string()) return false;
        return r.SetString(&message, &field, value.get_ref<const std::string&>()), true;
      case Field::CPPTYPE_INT64:
        return IsWhole<int64_t>(value) && (r.SetInt64(&message, &field, value.get<int64_t>()), true);
      case Field::CPPTYPE_INT32:
        return IsWhole<int32_t>(value) && (r.SetInt32(&message, &field, value.get<int32_t>()), true);
      case Field::CPPTYPE_DOUBLE:
        return IsExact(value) && (r.SetDouble(&message, &field, value.get<double>()), true);
      case Field::CPPTYPE_BOOL:
        return value.is_boolean() && (r.SetBool(&message, &field, value.get<bool>()), true);
      case Field::CPPTYPE_MESSAGE:
        return Read(value, *r.MutableMessage(&message, &field));
      default:
        return false;
    }
  }

  bool Add(const json& value, const Field& field, pb::Message& message) {
    const pb::Reflection& r = *message.GetReflection();
    if (field.cpp_type() == Field::CPPTYPE_MESSAGE) return Read(value, *r.AddMessage(&message, &field));
    if (field.type() != Field::TYPE_STRING || !value.is_string()) return false;
    return r.AddString(&message, &field, value.get_ref<const std::string&>()), true;
  }

  template <typename Number>
  static bool IsWhole(const json& value) {
    if (!value.is_number_integer()) return false;
    if (value.is_number_unsigned())
      return value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<Number>::max());
    return value.get<int64_t>() >= std::numeric_limits<Number>::min();
  }

  // Whether a double holds it exactly, if it is written as an integer.
  static bool IsExact(const json& value) {
    constexpr int64_t kMost = int64_t{1} << 53;
    if (value.is_number_float()) return true;
    return IsWhole<int64_t>(value) && std::abs(value.get<int64_t>()) <= kMost;
  }

  int64_t names_ = 0;
};

}  // namespace

bool ReadSimpleBody(const std::string& body, pb::Message& request) {
  if (body.empty() || body.front() != '{') return false;
  int64_t names = 0;
  const json parsed = json::parse(
      body,
      [&names](int, json::parse_event_t event, json&) {
        if (event == json::parse_event_t::key) ++names;
        return true;
      },
      false);
  Reader reader;
  return parsed.is_object() && reader.Read(parsed, request) && reader.names() == names;
}

}  // namespace winnow
