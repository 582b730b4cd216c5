#include "server/http/target.h"

namespace winnow {
namespace {

int Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> Decode(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_blank) c = ' ';
    if (text[i] == '%') {
      if (i + 2 >= text.size() || Digit(text[i + 1]) < 0 || Digit(text[i + 2]) < 0) return std::nullopt;
      c = static_cast<char>(Digit(text[i + 1]) * 16 + Digit(text[i + 2]));
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    decoded += c;
  }
  return decoded;
}

// Calls `take` with each part between separators; stops and returns false as soon as it returns false.
template <typename Take>
bool Split(std::string_view text, char separator, Take take) {
  while (true) {
    const size_t end = text.find(separator);
    if (!take(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<HttpTarget> ParseTarget(std::string_view text) {
  if (!text.starts_with('/')) return std::nullopt;
  text = text.substr(0, text.find('#'));
  const size_t mark = text.find('?');
  std::string_view path = text.substr(1, mark == std::string_view::npos ? mark : mark - 1);
  if (path.ends_with('/')) path.remove_suffix(1);
  HttpTarget target;
  const auto take_segment = [&](std::string_view segment) {
    std::optional<std::string> decoded = Decode(segment, false);
    if (!decoded || *decoded == "." || *decoded == "..") return false;
    target.segments.push_back(*std::move(decoded));
    return true;
  };
  if (!path.empty() && !Split(path, '/', take_segment)) return std::nullopt;
  if (mark == std::string_view::npos || mark + 1 == text.size()) return target;
  const auto take_parameter = [&](std::string_view parameter) {
    if (parameter.empty()) return true;
    const size_t equals = parameter.find('=');
    std::optional<std::string> name = Decode(parameter.substr(0, equals), true);
    std::optional<std::string> value =
        equals == std::string_view::npos ? std::string() : Decode(parameter.substr(equals + 1), true);
    if (!name || !value || target.parameters.size() == kMostParameters) return false;
    target.parameters.emplace_back(*std::move(name), *std::move(value));
    return true;
  };
  if (!Split(text.substr(mark + 1), '&', take_parameter)) return std::nullopt;
  return target;
}

}  // namespace winnow
