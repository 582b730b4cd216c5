#include "trainers/gbdt/model/model_document.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

namespace winnow::gbdt {

Document Document::Object() {
  Document document;
  document.kind = Kind::kObject;
  return document;
}

Document&& Document::With(const std::string& name, Document value) && {
  members.insert_or_assign(name, std::move(value));
  return std::move(*this);
}

Document Document::Text(std::string text) {
  Document document;
  document.kind = Kind::kText;
  document.text = std::move(text);
  return document;
}

Document Document::Whole(int64_t number) {
  Document document;
  document.kind = Kind::kNumber;
  document.type = NumberType::kInt64;
  document.number = static_cast<double>(number);
  return document;
}

Document Document::Array(std::vector<Document> items) {
  Document document;
  document.kind = Kind::kArray;
  document.items = std::move(items);
  return document;
}

const Document* Document::Find(std::string_view name) const {
  const auto found = members.find(name);
  return found == members.end() || found->second.kind == Kind::kNull ? nullptr : &found->second;
}

const Document& Document::At(std::string_view name) const {
  const Document* found = Find(name);
  if (found == nullptr) throw MalformedDocument(fmt::format("there is no \"{}\"", name));
  return *found;
}

const std::string& Document::TextAt(std::string_view name) const {
  const Document& value = At(name);
  if (value.kind != Kind::kText) throw MalformedDocument(fmt::format("{}: expected a text", name));
  return value.text;
}

int64_t Document::WholeAt(std::string_view name) const {
  const Document& value = At(name);
  constexpr double kExact = 9007199254740992;  // 2^53
  if (value.kind == Kind::kNumber && std::floor(value.number) == value.number &&
      std::fabs(value.number) <= kExact)
    return static_cast<int64_t>(value.number);
  if (value.kind == Kind::kText) {
    int64_t whole = 0;
    const char* end = value.text.data() + value.text.size();
    if (const auto [at, error] = std::from_chars(value.text.data(), end, whole);
        error == std::errc() && at == end)
      return whole;
  }
  throw MalformedDocument(fmt::format("{}: expected a whole number", name));
}

const std::vector<Document>& Document::ItemsAt(std::string_view name) const {
  const Document& value = At(name);
  if (value.kind != Kind::kArray || !value.numbers.empty())
    throw MalformedDocument(fmt::format("{}: expected a list", name));
  return value.items;
}

std::vector<std::string> Document::TextsAt(std::string_view name) const {
  std::vector<std::string> texts;
  for (const Document& item : ItemsAt(name)) {
    if (item.kind != Kind::kText) throw MalformedDocument(fmt::format("{}: expected a list of texts", name));
    texts.push_back(item.text);
  }
  return texts;
}

Document ParseDocument(std::string_view text) {
  // Both begin with a brace; UBJSON goes on with the type of a length, JSON with a quote or white space.
  const bool ubjson = text.size() > 1 && text[0] == '{' && std::isalpha(static_cast<unsigned char>(text[1]));
  return ubjson ? ParseUbjsonDocument(text) : ParseJsonDocument(text);
}

}  // namespace winnow::gbdt
