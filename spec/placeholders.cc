#include "spec/placeholders.h"

#include <functional>

namespace winnow {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Calls plain(text) and named(whole, name) for the pieces of an argument, in order.
void Walk(std::string_view argument, const std::function<void(std::string_view)>& plain,
          const std::function<void(std::string_view, std::string_view)>& named) {
  while (true) {
    const size_t open = argument.find("{{");
    const size_t close = open == std::string_view::npos ? open : argument.find("}}", open + 2);
    if (close == std::string_view::npos) return plain(argument);
    plain(argument.substr(0, open));
    named(argument.substr(open, close + 2 - open), Trimmed(argument.substr(open + 2, close - open - 2)));
    argument.remove_prefix(close + 2);
  }
}

}  // namespace

std::vector<std::string> Placeholders(std::string_view argument) {
  std::vector<std::string> names;
  Walk(
      argument, [](std::string_view) {},
      [&names](std::string_view, std::string_view name) { names.emplace_back(name); });
  return names;
}

std::string ReplacePlaceholders(std::string_view argument, const std::map<std::string, std::string>& values) {
  std::string result;
  Walk(
      argument, [&result](std::string_view text) { result += text; },
      [&result, &values](std::string_view whole, std::string_view name) {
        const auto found = values.find(std::string(name));
        result += found == values.end() ? std::string(whole) : found->second;
      });
  return result;
}

}  // namespace winnow
