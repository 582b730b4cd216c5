#include "cli/validators.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

#include "base/names.h"
#include "cli/output/text.h"

namespace winnow::cli {

CLI::Validator Whole(int64_t least, int64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool fits =
            error == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
        if (fits) return std::string();
        const std::string range = most == INT64_MAX ? fmt::format("of at least {}", least)
                                                    : fmt::format("from {} to {}", least, most);
        return fmt::format("\"{}\" is not a whole number {}", Clean(text), range);
      },
      "");
}

CLI::Validator Seconds(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        double number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool fits =
            error == std::errc() && end == text.data() + text.size() && number >= least && number <= most;
        return fits
                   ? ""
                   : fmt::format("\"{}\" is not a number of seconds from {} to {}", Clean(text), least, most);
      },
      "");
}

CLI::Validator WithoutUnit() {
  return CLI::Validator(
      [](std::string& text) {
        if (text.size() > 1 && text.back() == 's') text.pop_back();
        return std::string();
      },
      "");
}

CLI::Validator WordOf(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string& text) {
        for (const std::string& word : words) {
          if (text == word) return std::string();
        }
        return fmt::format("\"{}\" is not {}", Clean(text), OneOf(words));
      },
      "");
}

CLI::Validator JobName() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool fits =
            !text.empty() && text.size() <= 128 &&
            text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") ==
                std::string::npos;
        return fits ? ""
                    : fmt::format(
                          "\"{}\" is not a job's id, which has only letters, digits, '-', '_', '.' and '@'",
                          Clean(text));
      },
      "");
}

CLI::Validator NotEmpty(size_t longest) {
  return CLI::Validator(
      [longest](const std::string& text) {
        return !text.empty() && text.size() <= longest
                   ? ""
                   : fmt::format("\"{}\" has {} characters; expected 1 to {}", Clean(text), text.size(),
                                 longest);
      },
      "");
}

}  // namespace winnow::cli
