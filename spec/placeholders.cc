#include "spec/placeholders.h"

#include <algorithm>

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

// Whether argument `index` is a placeholder and nothing else, and the one before it the flag whose value it
// is.
bool FollowsItsFlag(const std::vector<std::string>& command, size_t index) {
  const std::string& argument = command[index];
  if (index < 2 || argument.rfind("{{", 0) != 0 || argument.find("}}") != argument.size() - 2) return false;
  const std::string& before = command[index - 1];
  return before.size() > 1 && before[0] == '-' && before.find('=') == std::string::npos &&
         Placeholders(before).empty();
}

}  // namespace

std::vector<std::string> Placeholders(std::string_view argument) {
  std::vector<std::string> names;
  Walk(
      argument, [](std::string_view) {},
      [&names](std::string_view, std::string_view name) { names.emplace_back(name); });
  return names;
}

std::vector<std::string> ExistingArguments(const std::vector<std::string>& command,
                                           const std::function<bool(const std::string&)>& exists) {
  std::vector<std::string> existing;
  for (size_t i = 0; i < command.size(); ++i) {
    const std::vector<std::string> names = Placeholders(command[i]);
    if (std::all_of(names.begin(), names.end(), exists)) {
      existing.push_back(command[i]);
    } else if (FollowsItsFlag(command, i)) {
      existing.pop_back();
    }
  }
  return existing;
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
