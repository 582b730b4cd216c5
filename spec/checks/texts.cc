#include "spec/checks/texts.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <utility>

namespace winnow {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class TextChecker {
 public:
  // `at` is the message's own field; "": it is the whole.
  void Walk(const Message& message, const std::string& at) {
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      if (!text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      const std::string name = at.empty() ? field->name() : at + "." + field->name();
      if (field->is_map()) {
        Entries(message, *field, name);
      } else if (!field->is_repeated()) {
        std::string scratch;
        text ? Text(name, reflection.GetStringReference(message, field, &scratch))
             : Walk(reflection.GetMessage(message, field), name);
      } else {
        Elements(message, *field, name);
      }
    }
  }

  std::vector<Violation> Take() { return std::move(violations_); }

 private:
  void Text(const std::string& at, const std::string& text) {
    if (text.find('\0') != std::string::npos)
      violations_.push_back({at, "holds a NUL character; expected none"});
  }

  void Elements(const Message& message, const FieldDescriptor& field, const std::string& name) {
    const Reflection& reflection = *message.GetReflection();
    std::string scratch;
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Walk(reflection.GetRepeatedMessage(message, &field, i), fmt::format("{}[{}]", name, i));
      } else if (const std::string& text =
                     reflection.GetRepeatedStringReference(message, &field, i, &scratch);
                 text.find('\0') != std::string::npos) {
        Text(fmt::format("{}[{}]", name, i), text);
      }
    }
  }

  void Entries(const Message& message, const FieldDescriptor& field, const std::string& name) {
    const FieldDescriptor* key = field.message_type()->map_key();
    const FieldDescriptor* value = field.message_type()->map_value();
    if (key->cpp_type() != FieldDescriptor::CPPTYPE_STRING) return;
    const Reflection& reflection = *message.GetReflection();
    std::map<std::string, const Message*> sorted;
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      sorted[entry.GetReflection()->GetString(entry, key)] = &entry;
    }
    for (const auto& [text, entry] : sorted) {
      const std::string at = name + "." + text;
      if (text.find('\0') != std::string::npos)
        violations_.push_back({at, "has a NUL character in its name; expected none"});
      if (value->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
        Text(at, entry->GetReflection()->GetString(*entry, value));
      if (value->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        Walk(entry->GetReflection()->GetMessage(*entry, value), at);
    }
  }

  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckTexts(const v1::TuningJobSpec& spec) {
  TextChecker checker;
  checker.Walk(spec, "");
  return checker.Take();
}

}  // namespace winnow
