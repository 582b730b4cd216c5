#include "spec/job_file.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "base/names.h"
#include "spec/json_tree.h"

namespace winnow {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using NodeKind = JsonNode::Kind;

// A whole number written as 12, "12", 12.0 or 1.2e1.
template <typename T>
std::optional<T> WholeNumber(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
  double real = 0;
  const auto [real_end, real_error] = std::from_chars(text.data(), text.data() + text.size(), real);
  if (real_error != std::errc() || real_end != text.data() + text.size()) return std::nullopt;
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  if (real != std::floor(real) || real < low || std::fabs(real) > 9007199254740992.0) return std::nullopt;
  if (real > static_cast<double>(std::numeric_limits<T>::max())) return std::nullopt;
  return static_cast<T>(real);
}

std::optional<double> RealNumber(const JsonNode& node) {
  if (node.kind == NodeKind::kString && node.text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (node.kind == NodeKind::kString && node.text == "Infinity")
    return std::numeric_limits<double>::infinity();
  if (node.kind == NodeKind::kString && node.text == "-Infinity")
    return -std::numeric_limits<double>::infinity();
  double value = 0;
  const char* last = node.text.data() + node.text.size();
  const auto [end, error] = std::from_chars(node.text.data(), last, value);
  if (error != std::errc() || end != last || !std::isfinite(value)) return std::nullopt;
  return value;
}

// "10s", "-1.5s": at most nine decimals, within what a Duration holds.
bool ReadDuration(const std::string& text, google::protobuf::Duration& duration) {
  if (text.size() < 2 || text.back() != 's') return false;
  const bool negative = text[0] == '-';
  const std::string digits = text.substr(negative ? 1 : 0, text.size() - 1 - (negative ? 1 : 0));
  const size_t dot = digits.find('.');
  const std::string whole = digits.substr(0, dot);
  std::string fraction = dot == std::string::npos ? "" : digits.substr(dot + 1);
  const auto is_digits = [](const std::string& s) {
    return !s.empty() && s.find_first_not_of("0123456789") == std::string::npos;
  };
  if (!is_digits(whole) || whole.size() > 12) return false;
  if (dot != std::string::npos && (!is_digits(fraction) || fraction.size() > 9)) return false;
  fraction.resize(9, '0');
  const int64_t seconds = std::stoll(whole);
  if (seconds > 315'576'000'000) return false;
  duration.set_seconds(negative ? -seconds : seconds);
  duration.set_nanos(negative ? -std::stoi(fraction) : std::stoi(fraction));
  return true;
}

std::vector<std::string> EnumNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    const std::string& name = type.value(i)->name();
    if (name.find("UNSPECIFIED") == std::string::npos) names.push_back(name);
  }
  return names;
}

class Reader {
 public:
  explicit Reader(std::vector<Violation>& violations) : violations_(violations) {}

  void ReadMessage(const JsonNode& node, const std::string& path, Message& message) {
    if (node.kind != NodeKind::kObject) return Wrong(path, node, "an object {…}");
    const Descriptor& type = *message.GetDescriptor();
    std::set<const FieldDescriptor*> seen;
    std::map<const google::protobuf::OneofDescriptor*, std::string> members;
    for (const auto& [key, value] : node.members) {
      const std::string at = path.empty() ? key : path + "." + key;
      const FieldDescriptor* field = FindField(type, key);
      if (field == nullptr) {
        Add(at,
            "unknown field in " + (path.empty() ? "the job file" : path) + DidYouMean(key, FieldNames(type)));
        continue;
      }
      if (!seen.insert(field).second) {
        Add(at, "is given twice, the second time as " + value.Shown() + "; expected once");
        continue;
      }
      if (value.kind == NodeKind::kNull) continue;
      if (const auto* oneof = field->real_containing_oneof()) {
        const auto [other, first] = members.emplace(oneof, field->name());
        if (!first) {
          Add(path, "has both " + other->second + " and " + field->name() + "; expected only one of " +
                        OneofNames(*oneof));
          continue;
        }
      }
      ReadField(value, path.empty() ? field->name() : path + "." + field->name(), *field, message);
    }
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }
  void Wrong(const std::string& path, const JsonNode& node, const std::string& expected) {
    Add(path.empty() ? std::string(kWholeJob) : path, "is " + node.Shown() + "; expected " + expected);
  }

  static const FieldDescriptor* FindField(const Descriptor& type, const std::string& key) {
    for (int i = 0; i < type.field_count(); ++i) {
      if (type.field(i)->name() == key || type.field(i)->json_name() == key) return type.field(i);
    }
    return nullptr;
  }
  static std::vector<std::string> FieldNames(const Descriptor& type) {
    std::vector<std::string> names;
    for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
    return names;
  }
  static std::string OneofNames(const google::protobuf::OneofDescriptor& oneof) {
    std::vector<std::string> names;
    for (int i = 0; i < oneof.field_count(); ++i) names.push_back(oneof.field(i)->name());
    return Joined(names);
  }

  void ReadField(const JsonNode& node, const std::string& path, const FieldDescriptor& field,
                 Message& message) {
    if (field.is_map()) return ReadMap(node, path, field, message);
    if (!field.is_repeated()) return ReadValue(node, path, field, message);
    if (node.kind != NodeKind::kArray) return Wrong(path, node, "a list […]");
    for (size_t i = 0; i < node.items.size(); ++i) {
      ReadValue(node.items[i], fmt::format("{}[{}]", path, i), field, message);
    }
  }

  static bool IsPlain(const JsonNode& node) {
    return node.kind == NodeKind::kString || node.kind == NodeKind::kNumber ||
           node.kind == NodeKind::kBoolean;
  }
  static std::string PlainText(const JsonNode& node) {
    return node.kind == NodeKind::kBoolean ? (node.boolean ? "true" : "false") : node.text;
  }

  // Every map of a job is keyed by text. Where values are text, they may be numbers and booleans, as written.
  void ReadMap(const JsonNode& node, const std::string& path, const FieldDescriptor& field,
               Message& message) {
    if (node.kind != NodeKind::kObject) return Wrong(path, node, "an object {…}");
    const FieldDescriptor& value_field = *field.message_type()->map_value();
    std::set<std::string> seen;
    for (const auto& [key, value] : node.members) {
      const std::string at = path + "." + key;
      if (!seen.insert(key).second) {
        Add(at, "is given twice, the second time as " + value.Shown() + "; expected once");
        continue;
      }
      Message& entry = *message.GetReflection()->AddMessage(&message, &field);
      entry.GetReflection()->SetString(&entry, field.message_type()->map_key(), key);
      if (value_field.type() == FieldDescriptor::TYPE_STRING && IsPlain(value)) {
        entry.GetReflection()->SetString(&entry, &value_field, PlainText(value));
      } else {
        ReadValue(value, at, value_field, entry);
      }
    }
  }

  // Sets a single field, or adds to a repeated one.
  void ReadValue(const JsonNode& node, const std::string& path, const FieldDescriptor& field,
                 Message& message) {
    const Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE: {
        Message& child = field.is_repeated() ? *reflection.AddMessage(&message, &field)
                                             : *reflection.MutableMessage(&message, &field);
        if (auto* duration = google::protobuf::DynamicCastToGenerated<google::protobuf::Duration>(&child)) {
          if (node.kind != NodeKind::kString || !ReadDuration(node.text, *duration)) {
            Wrong(path, node, "a duration in seconds such as \"90s\" or \"0.5s\"");
          }
          return;
        }
        return ReadMessage(node, path, child);
      }
      case FieldDescriptor::CPPTYPE_STRING:
        if (field.full_name() == "winnow.v1.Condition.values" && IsPlain(node)) {
          return reflection.AddString(&message, &field, PlainText(node));
        }
        if (field.full_name() == "winnow.v1.ParameterPrior.value" && IsPlain(node)) {
          return reflection.SetString(&message, &field, PlainText(node));
        }
        if (node.kind != NodeKind::kString) return Wrong(path, node, "a string");
        if (field.is_repeated()) return reflection.AddString(&message, &field, node.text);
        return reflection.SetString(&message, &field, node.text);
      case FieldDescriptor::CPPTYPE_BOOL:
        if (node.kind != NodeKind::kBoolean) return Wrong(path, node, "true or false");
        return reflection.SetBool(&message, &field, node.boolean);
      case FieldDescriptor::CPPTYPE_ENUM:
        return ReadEnum(node, path, field, message);
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        const bool numeric = node.kind == NodeKind::kNumber || node.kind == NodeKind::kString;
        const auto value = numeric ? RealNumber(node) : std::nullopt;
        if (!value) return Wrong(path, node, "a number");
        if (field.is_repeated()) return reflection.AddDouble(&message, &field, *value);
        return reflection.SetDouble(&message, &field, *value);
      }
      case FieldDescriptor::CPPTYPE_INT64:
        if (const auto value = Whole<int64_t>(node, path)) reflection.SetInt64(&message, &field, *value);
        return;
      case FieldDescriptor::CPPTYPE_UINT64:
        if (const auto value = Whole<uint64_t>(node, path)) reflection.SetUInt64(&message, &field, *value);
        return;
      case FieldDescriptor::CPPTYPE_INT32:
        if (const auto value = Whole<int32_t>(node, path)) reflection.SetInt32(&message, &field, *value);
        return;
      default:
        return Wrong(path, node, "nothing: this kind of field is not read from job files");
    }
  }

  template <typename T>
  std::optional<T> Whole(const JsonNode& node, const std::string& path) {
    const bool numeric = node.kind == NodeKind::kNumber || node.kind == NodeKind::kString;
    const auto value = numeric ? WholeNumber<T>(node.text) : std::nullopt;
    if (value) return value;
    // The type's bounds are of use to a whole number that it cannot hold. The field's own are checked later.
    const auto real = numeric ? RealNumber(node) : std::nullopt;
    const bool is_whole = real && *real == std::floor(*real);
    Wrong(path, node,
          is_whole ? fmt::format("a whole number from {} to {}", std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max())
                   : "a whole number");
    return value;
  }

  // Where a sampler or a pruner is named as the strategy; else "".
  static std::string OtherField(const EnumDescriptor& type, const JsonNode& node) {
    if (&type != v1::Strategy_descriptor() || node.kind != NodeKind::kString) return "";
    const std::string name = absl::AsciiStrToUpper(node.text);
    for (const auto& [field, kinds] : {std::pair("sampler", v1::SamplerSpec::Kind_descriptor()),
                                       std::pair("pruner", v1::PrunerSpec::Kind_descriptor())}) {
      if (kinds->FindValueByName(name) != nullptr)
        return fmt::format("; {0} is a {1}, which is chosen by {1}: {{kind: {0}}}", name, field);
    }
    return "";
  }

  void ReadEnum(const JsonNode& node, const std::string& path, const FieldDescriptor& field,
                Message& message) {
    const EnumDescriptor& type = *field.enum_type();
    const google::protobuf::EnumValueDescriptor* value = nullptr;
    // In lower case too: names of values have no other letters.
    if (node.kind == NodeKind::kString) value = type.FindValueByName(absl::AsciiStrToUpper(node.text));
    if (node.kind == NodeKind::kNumber) {
      if (const auto number = WholeNumber<int32_t>(node.text)) value = type.FindValueByNumber(*number);
    }
    if (value == nullptr)
      return Wrong(path, node, "one of " + Joined(EnumNames(type)) + OtherField(type, node));
    message.GetReflection()->SetEnum(&message, &field, value);
  }

  std::vector<Violation>& violations_;
};

}  // namespace

ParsedJobFile ParseJobFile(std::string_view json_text) {
  ParsedJobFile parsed;
  const JsonTree tree = ParseJson(json_text);
  if (!tree.error.empty()) {
    parsed.violations.push_back({std::string(kWholeJob), tree.error});
    return parsed;
  }
  Reader(parsed.violations).ReadMessage(tree.root, "", parsed.spec);
  return parsed;
}

ParsedJobFile ParseJobIn(std::string_view json_text, std::string_view member) {
  ParsedJobFile parsed;
  const JsonTree tree = ParseJson(json_text);
  const auto found = std::find_if(tree.root.members.begin(), tree.root.members.end(),
                                  [member](const JsonMember& each) { return each.name == member; });
  if (tree.error.empty() && found != tree.root.members.end())
    Reader(parsed.violations).ReadMessage(found->value, "", parsed.spec);
  return parsed;
}

}  // namespace winnow
