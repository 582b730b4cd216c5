#include "json/message_json.h"

#include <fmt/core.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/utf8.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

constexpr uint64_t kLargestExact = uint64_t{1} << 53;  // for readers whose numbers are doubles
constexpr int kOne = -1;                               // index of a field that is not repeated

// Returns the `hyperparameters` field that gets a `configuration` beside it; null: `type` has none.
const Field* HyperparametersOf(const pb::Descriptor& type) {
  const Field* field = type.FindFieldByName("hyperparameters");
  const bool is_list = field != nullptr && field->is_repeated() && !field->is_map() &&
                       field->message_type() == v1::HyperparameterValue::descriptor();
  return is_list ? field : nullptr;
}

class JsonWriter {
 public:
  explicit JsonWriter(JsonLayout layout) : indented_(layout == JsonLayout::kIndented) {}

  void Write(const pb::Message& message) {
    const pb::Descriptor& type = *message.GetDescriptor();
    if (&type == pb::Timestamp::descriptor()) {
      return Text(pb::util::TimeUtil::ToString(static_cast<const pb::Timestamp&>(message)));
    }
    if (&type == pb::Duration::descriptor()) {
      return Text(pb::util::TimeUtil::ToString(static_cast<const pb::Duration&>(message)));
    }
    const Field* const hyperparameters = HyperparametersOf(type);
    Open('{');
    for (int i = 0; i < type.field_count(); ++i) {
      const Field& field = *type.field(i);
      if (field.has_presence() && !message.GetReflection()->HasField(message, &field)) continue;
      Key(field.name());
      Value(message, field);
      if (&field == hyperparameters) Configuration(message, field);
    }
    Close('}');
  }

  std::string Take() {
    if (indented_) json_ += '\n';
    return std::move(json_);
  }

 private:
  void Open(char bracket) {
    json_ += bracket;
    ++depth_;
    empty_ = true;
  }
  void Close(char bracket) {
    --depth_;
    if (!empty_) NewLine();
    json_ += bracket;
    empty_ = false;
  }
  // Called before each element of a list and each key.
  void Next() {
    if (!empty_) json_ += ',';
    empty_ = false;
    NewLine();
  }
  void Key(std::string_view name) {
    Next();
    Text(name);
    json_ += indented_ ? ": " : ":";
  }
  void NewLine() {
    if (!indented_) return;
    json_ += '\n';
    json_.append(static_cast<size_t>(depth_) * 2, ' ');
  }

  void Value(const pb::Message& message, const Field& field) {
    if (field.is_map()) return Map(message, field);
    if (!field.is_repeated()) return One(message, field, kOne);
    Open('[');
    const int size = message.GetReflection()->FieldSize(message, &field);
    for (int i = 0; i < size; ++i) {
      Next();
      One(message, field, i);
    }
    Close(']');
  }

  void Map(const pb::Message& message, const Field& field) {
    const pb::Reflection& reflection = *message.GetReflection();
    const Field& key = *field.message_type()->map_key();
    const Field& value = *field.message_type()->map_value();
    std::vector<std::pair<std::string, const pb::Message*>> entries;
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const pb::Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      entries.emplace_back(entry.GetReflection()->GetString(entry, &key), &entry);
    }
    std::sort(entries.begin(), entries.end());
    Open('{');
    for (const auto& [name, entry] : entries) {
      Key(name);
      Value(*entry, value);
    }
    Close('}');
  }

  void Configuration(const pb::Message& message, const Field& field) {
    const pb::Reflection& reflection = *message.GetReflection();
    Key("configuration");
    Open('{');
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const auto& value =
          static_cast<const v1::HyperparameterValue&>(reflection.GetRepeatedMessage(message, &field, i));
      if (value.value_case() == v1::HyperparameterValue::VALUE_NOT_SET) continue;
      Key(value.name());
      if (value.has_integer()) {
        Whole(value.integer());
      } else if (value.has_continuous()) {
        Real(value.continuous());
      } else {
        Text(value.categorical());
      }
    }
    Close('}');
  }

  // Writes element `i` of a repeated field, or a field's only value (kOne).
  void One(const pb::Message& message, const Field& field, int i) {
    const pb::Reflection& r = *message.GetReflection();
    const bool one = i == kOne;
    switch (field.cpp_type()) {
      case Field::CPPTYPE_INT32:
        return Whole(one ? r.GetInt32(message, &field) : r.GetRepeatedInt32(message, &field, i));
      case Field::CPPTYPE_INT64:
        return Whole(one ? r.GetInt64(message, &field) : r.GetRepeatedInt64(message, &field, i));
      case Field::CPPTYPE_UINT32:
        return Whole(one ? r.GetUInt32(message, &field) : r.GetRepeatedUInt32(message, &field, i));
      case Field::CPPTYPE_UINT64:
        return Natural(one ? r.GetUInt64(message, &field) : r.GetRepeatedUInt64(message, &field, i));
      case Field::CPPTYPE_DOUBLE:
        return Real(one ? r.GetDouble(message, &field) : r.GetRepeatedDouble(message, &field, i));
      case Field::CPPTYPE_FLOAT:
        return Real(one ? r.GetFloat(message, &field) : r.GetRepeatedFloat(message, &field, i));
      case Field::CPPTYPE_BOOL:
        json_ +=
            (one ? r.GetBool(message, &field) : r.GetRepeatedBool(message, &field, i)) ? "true" : "false";
        return;
      case Field::CPPTYPE_ENUM: {
        const int number = one ? r.GetEnumValue(message, &field) : r.GetRepeatedEnumValue(message, &field, i);
        const pb::EnumValueDescriptor* known = field.enum_type()->FindValueByNumber(number);
        return known == nullptr ? Whole(number) : Text(known->name());  // from a newer version
      }
      case Field::CPPTYPE_STRING: {
        std::string scratch;
        const std::string& text = one ? r.GetStringReference(message, &field, &scratch)
                                      : r.GetRepeatedStringReference(message, &field, i, &scratch);
        return field.type() == Field::TYPE_BYTES ? Text(absl::Base64Escape(text)) : Text(text);
      }
      case Field::CPPTYPE_MESSAGE:
        return Write(one ? r.GetMessage(message, &field) : r.GetRepeatedMessage(message, &field, i));
    }
  }

  void Whole(int64_t number) {
    const uint64_t size =
        number < 0 ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    Exact(fmt::format("{}", number), size);
  }
  void Natural(uint64_t number) { Exact(fmt::format("{}", number), number); }
  void Exact(const std::string& digits, uint64_t size) {
    json_ += size <= kLargestExact ? digits : '"' + digits + '"';
  }

  void Real(double number) {
    if (std::isfinite(number)) {
      json_ += fmt::format("{}", number);
    } else {
      json_ += std::isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    }
  }

  void Text(std::string_view text) {
    json_ += '"';
    while (!text.empty()) {
      const auto c = static_cast<unsigned char>(text.front());
      size_t bytes = 1;
      if (c == '"' || c == '\\') {
        json_ += '\\';
        json_ += text.front();
      } else if (c == '\n') {
        json_ += "\\n";
      } else if (c == '\t') {
        json_ += "\\t";
      } else if (c < 0x20 || c == 0x7F || c == '<' || c == '>') {  // must not end a script in a page
        json_ += fmt::format("\\u{:04x}", c);
      } else if (bytes = Utf8Length(text); bytes > 0) {
        json_ += text.substr(0, bytes);
      } else {
        json_ += "\uFFFD";
        bytes = 1;
      }
      text.remove_prefix(bytes);
    }
    json_ += '"';
  }

  const bool indented_;
  std::string json_;
  int depth_ = 0;
  bool empty_ = true;  // nothing follows the newest bracket yet
};

}  // namespace

std::string MessageJson(const pb::Message& message, JsonLayout layout) {
  JsonWriter writer(layout);
  writer.Write(message);
  return writer.Take();
}

}  // namespace winnow
