#include "flags/help_formatter.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <regex>

#include "flags/wrap.h"

namespace winnow {
namespace {

constexpr size_t kWidthElsewhere = 100;
constexpr size_t kLeastWidth = 40;
constexpr size_t kSecondColumn = 30;
constexpr size_t kNarrow = 72;  // on narrower terminals, texts are below their flags
constexpr size_t kNarrowIndent = 6;

size_t TerminalWidth() {
  winsize size = {};
  const bool known =
      isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::max<size_t>(size.ws_col, kLeastWidth) : kWidthElsewhere;
}

std::string Indented(std::string lines, size_t indent) {
  for (size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1))
    lines.insert(at + 1, indent, ' ');
  return lines;
}

// Parts of "CALLS:FLOAT in [0 - 1e+09]": the value's placeholder, and the range of the library's validator.
struct ValueWords {
  std::string name;
  std::string range;
};
ValueWords WordsOf(const CLI::Option& option) {
  if (!option.get_option_text().empty())
    return {option.get_option_text() == " " ? "" : option.get_option_text(), ""};
  if (option.get_type_size() == 0) return {};
  const std::string type = option.get_type_name();
  static const std::regex kRange(R"(:(?:INT|UINT|FLOAT) in \[(\S+) - (\S+)\])");
  ValueWords words{std::regex_replace(type, kRange, ""), ""};
  static const std::map<std::string, std::string> kKinds = {{"INT", "N"}, {"UINT", "N"}, {"FLOAT", "NUMBER"}};
  if (const auto kind = kKinds.find(words.name); kind != kKinds.end()) words.name = kind->second;
  static const std::regex kExponent(R"(e\+0*)");
  if (std::smatch found; std::regex_search(type, found, kRange)) {
    words.range = std::regex_replace(fmt::format("{} to {}", found[1].str(), found[2].str()), kExponent, "e");
  }
  if (option.get_expected_max() >= CLI::detail::expected_max_vector_size) words.name += " ...";
  if (option.get_required()) words.name += " REQUIRED";
  return words;
}

// Returns "text (0 to 9; default 5)"; a "(default: …)" of the text itself stays at its end.
std::string WithRangeAndDefault(std::string text, const std::string& range, const std::string& standard) {
  if (const size_t own = text.find("(default"); own != std::string::npos && !range.empty()) {
    return text.insert(own + 1, range + "; ");
  }
  std::string added = range;
  if (!standard.empty()) added += (added.empty() ? "" : "; ") + ("default " + standard);
  return added.empty() ? text : text + " (" + added + ")";
}

}  // namespace

HelpFormatter::HelpFormatter() : HelpFormatter(TerminalWidth()) {}
HelpFormatter::HelpFormatter(size_t width) : width_(width) { label("SUBCOMMAND", "COMMAND"); }

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return Wrap(CLI::Formatter::make_description(app), width_);
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  return Wrap(CLI::Formatter::make_usage(app, std::move(name)), width_);
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  return Wrap(CLI::Formatter::make_footer(app), width_);
}

std::string HelpFormatter::make_subcommand(const CLI::App* sub) const {
  return Row(sub->get_display_name(true), sub->get_description());
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  const ValueWords words = WordsOf(*option);
  std::string meaning =
      WithRangeAndDefault(option->get_description(), words.range, option->get_default_str());
  for (const CLI::Option* other : option->get_needs()) meaning += "; only with " + other->get_name();
  for (const CLI::Option* other : option->get_excludes()) meaning += "; not with " + other->get_name();
  const std::string name = make_option_name(option, is_positional);
  return Row(words.name.empty() ? name : name + " " + words.name, meaning);
}

std::string HelpFormatter::Row(const std::string& left, const std::string& right) const {
  if (right.empty()) return "  " + left + "\n";
  const bool narrow = width_ < kNarrow;
  const size_t indent = narrow ? kNarrowIndent : kSecondColumn;
  const std::string text = Indented(Wrap(right, width_ - indent), indent);
  const bool own_line = narrow || CharacterCount(left) + 4 > kSecondColumn;
  if (own_line) return "  " + left + "\n" + std::string(indent, ' ') + text + "\n";
  return "  " + left + std::string(kSecondColumn - 2 - CharacterCount(left), ' ') + text + "\n";
}

}  // namespace winnow
