#include "server/sagemaker/wire/aws_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace winnow {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0;
    if (escape) {
      decoded += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::string PercentEncoded(std::string_view text, bool keep_slash) {
  std::string encoded;
  for (const unsigned char c : text) {
    const bool plain = (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '_' || c == '.' || c == '~' ||
                       (keep_slash && c == '/');
    if (plain)
      encoded += static_cast<char>(c);
    else
      encoded += fmt::format("%{:02X}", c);
  }
  return encoded;
}

std::string_view WithoutBlanks(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::vector<std::string> SplitAt(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool ConsumeFront(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

std::string Lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

const std::string* AwsTarget::find(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

AwsTarget ParseAwsTarget(std::string_view target) {
  AwsTarget parsed;
  const size_t mark = target.find('?');
  parsed.path = std::string(target.substr(0, mark));
  if (mark == std::string_view::npos) return parsed;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const size_t equal = std::min(pair.find('='), pair.size());
    const std::string_view value = equal < pair.size() ? pair.substr(equal + 1) : std::string_view();
    parsed.query.emplace_back(PercentDecoded(pair.substr(0, equal)), PercentDecoded(value));
  }
  return parsed;
}

}  // namespace winnow
