#include "spec/json_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace winnow {
namespace {

using Json = nlohmann::json;

constexpr size_t kDeepest = 64;
constexpr size_t kShownBytes = 60;

class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  TreeBuilder(std::string_view text, JsonTree& tree) : text_(text), tree_(tree) { open_.push_back(nullptr); }

  bool null() override { return Add(JsonNode::Kind::kNull) != nullptr; }
  bool boolean(bool value) override {
    Add(JsonNode::Kind::kBoolean)->boolean = value;
    return true;
  }
  bool number_integer(number_integer_t value) override { return Number(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Number(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Number(text); }
  bool string(string_t& value) override {
    Add(JsonNode::Kind::kString)->text = value;
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(JsonNode::Kind::kObject); }
  bool start_array(size_t) override { return Open(JsonNode::Kind::kArray); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override {
    key_ = value;
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const size_t at = std::min(position > 0 ? position - 1 : 0, text_.size());
    const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    const size_t line_start = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
    const size_t column = line_start == std::string_view::npos ? at + 1 : at - line_start;
    std::string what = error.what();
    const size_t syntax = what.find("syntax error"), bracket = what.find("] ");
    if (syntax != std::string::npos) {
      what = what.substr(syntax);
    } else if (bracket != std::string::npos) {
      what = what.substr(bracket + 2);
    }
    if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos)
      what = "the file is empty; expected a JSON object";
    tree_.error = fmt::format("line {}, column {}: {}", line, column, what);
    return false;
  }

 private:
  JsonNode* Add(JsonNode::Kind kind) {
    JsonNode* parent = open_.back();
    JsonNode* node = &tree_.root;
    if (parent != nullptr && parent->kind == JsonNode::Kind::kObject) {
      node = &parent->members.emplace_back(JsonMember{key_, {}}).value;
    } else if (parent != nullptr) {
      node = &parent->items.emplace_back();
    }
    node->kind = kind;
    return node;
  }
  bool Number(std::string text) {
    Add(JsonNode::Kind::kNumber)->text = std::move(text);
    return true;
  }
  bool Open(JsonNode::Kind kind) {
    if (open_.size() > kDeepest) {
      tree_.error = fmt::format("nested deeper than {} levels", kDeepest);
      return false;
    }
    open_.push_back(Add(kind));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  JsonTree& tree_;
  std::vector<JsonNode*> open_;  // only the last one grows, so that those above stay where they are
  std::string key_;
};

void Write(const JsonNode& node, std::string& out) {
  if (out.size() > kShownBytes) return;
  switch (node.kind) {
    case JsonNode::Kind::kNull:
      out += "null";
      return;
    case JsonNode::Kind::kBoolean:
      out += node.boolean ? "true" : "false";
      return;
    case JsonNode::Kind::kNumber:
      out += node.text;
      return;
    case JsonNode::Kind::kString:
      out += Json(node.text.substr(0, 4 * kShownBytes)).dump(-1, ' ', false, Json::error_handler_t::ignore);
      return;
    case JsonNode::Kind::kArray:
      out += "[";
      for (size_t i = 0; i < node.items.size(); ++i) {
        if (i > 0) out += ", ";
        Write(node.items[i], out);
      }
      out += "]";
      return;
    case JsonNode::Kind::kObject:
      out += "{";
      for (size_t i = 0; i < node.members.size(); ++i) {
        if (i > 0) out += ", ";
        out += "\"" + node.members[i].name + "\": ";
        Write(node.members[i].value, out);
      }
      out += "}";
      return;
  }
}

}  // namespace

std::string JsonNode::Shown() const {
  std::string out;
  Write(*this, out);
  if (out.size() <= kShownBytes) return out;
  return std::string(Utf8Prefix(out, kShownBytes)) + "…";
}

JsonTree ParseJson(std::string_view text) {
  JsonTree tree;
  TreeBuilder builder(text, tree);
  constexpr bool kStrict = true, kComments = true;
  if (!Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, kStrict, kComments) &&
      tree.error.empty()) {
    tree.error = "this is not JSON";
  }
  return tree;
}

}  // namespace winnow
