#include "flags/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/utf8.h"
#include "flags/command_line.h"
#include "flags/config_file.h"
#include "flags/wrap.h"

namespace winnow {
namespace {

constexpr char kDefault[] = "default";
constexpr size_t kCommentWidth = 96;
constexpr size_t kWidestValue = 40;    // a longer one moves what is behind it
constexpr size_t kLongestNumber = 40;  // std::regex goes as deep as a text is long

// Flags that ask for something else than to run with them.
const std::set<std::string>& NotSettings() {
  static const std::set<std::string> names = {"help",
                                              "version",
                                              "config",
                                              "show-config",
                                              "check",
                                              "restore",
                                              "accept-log-damage",
                                              "accept-missing-artifacts",
                                              "archive"};
  return names;
}

std::string VariableOf(const std::string& prefix, const std::string& key) {
  std::string name = prefix;
  for (const char c : key)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

bool IsFlag(const CLI::Option& option) { return option.get_expected_min() == 0; }
bool TakesSeveral(const CLI::Option& option) {
  return option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
}

// Returns the default: the parser's, or what the help says in words.
std::string DefaultOf(const CLI::Option& option) {
  if (!option.get_default_str().empty()) return option.get_default_str();
  if (IsFlag(option)) return "false";
  static const std::regex kInHelp(R"(default:? ((?:[^()]|\([^()]*\))*)\))");
  std::smatch found;
  const std::string help = option.get_description();
  return std::regex_search(help, found, kInHelp) ? found[1].str() : "";
}

// Returns the text in double quotes, as TOML and JSON write it; "?" for each byte that is not UTF-8.
std::string InQuotes(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const size_t bytes = Utf8Length(text);
    const unsigned char first = static_cast<unsigned char>(text.front());
    if (bytes == 0) {
      quoted += '?';
    } else if (first < 0x20 || first == 0x7F) {
      quoted += fmt::format("\\u{:04x}", first);
    } else {
      if (first == '"' || first == '\\') quoted += '\\';
      quoted += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return quoted + "\"";
}

bool IsNumber(const std::string& text) {
  static const std::regex kNumber(R"(-?(0|[1-9][0-9]*)(\.[0-9]+)?)");
  return text.size() <= kLongestNumber && std::regex_match(text, kNumber);
}

// Returns the default as TOML writes it; an empty value if the default is no constant.
std::string Example(const CLI::Option& option) {
  if (TakesSeveral(option)) return "[]";
  if (IsFlag(option)) return "false";
  const std::string value = option.get_default_str();
  return IsNumber(value) ? value : InQuotes(value);
}

// Returns the default as JSON writes it; in words if it is no constant.
std::string DefaultLiteral(const CLI::Option& option) {
  const std::string value = DefaultOf(option);
  return IsFlag(option) || IsNumber(value) ? value : InQuotes(value);
}

std::string TextOf(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
  return text;
}

}  // namespace

Settings::Settings(CLI::App& app, std::string prefix, Variables read_elsewhere)
    : app_(app), prefix_(std::move(prefix)) {
  for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; })) {
    if (option->get_lnames().empty() || option->get_positional()) continue;
    const std::string key = option->get_lnames().front();
    if (NotSettings().contains(key)) continue;
    const auto other = read_elsewhere.find("--" + key);
    Setting& setting = settings_.emplace_back();
    setting.option = option;
    setting.key = key;
    setting.read_elsewhere = other != read_elsewhere.end();
    setting.variables = setting.read_elsewhere ? other->second : std::vector{VariableOf(prefix_, key)};
  }
  config_ =
      app.add_option("--config", file_,
                     "TOML file of settings, named as the flags; the command line and the environment (" +
                         prefix_ + "... and the flag's name) come before it (env " + prefix_ +
                         "CONFIG; default: none)")
          ->option_text("FILE");
  app.add_option(
         "--show-config", format_,
         "Print every setting and where it comes from, and exit: text, json or toml (a file for --config)")
      ->expected(0, 1)
      ->default_str("text")
      ->check(CLI::IsMember({"text", "json", "toml"}))
      ->option_text("[FORMAT]");
}

std::string Settings::Take(Setting& setting, const std::vector<std::string>& values,
                           const std::string& from) {
  try {
    setting.option->add_result(values);
    setting.option->run_callback();
  } catch (const CLI::Error& error) {
    return fmt::format("{}: {}", from, InWords(error));
  }
  setting.from = from;
  setting.values = values;
  return "";
}

std::string Settings::TakeEnvironment(Setting& setting) {
  for (const std::string& variable : setting.variables) {
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    if (!setting.read_elsewhere) return Take(setting, {value}, variable);
    setting.from = variable;
    setting.values = {variable == setting.variables.front() ? value : "(not shown)"};
    return "";
  }
  return "";
}

std::string Settings::TakeFile(const std::string& path) {
  const ConfigFile file = ReadConfigFile(path);
  if (!file.problem.empty()) return "--config: " + file.problem;
  std::vector<std::string> known;
  for (const Setting& setting : settings_) known.push_back(setting.key);
  for (const ConfigEntry& entry : file.entries) {
    const std::string where = fmt::format("{}:{}", path, entry.line);
    const auto setting = std::find_if(settings_.begin(), settings_.end(),
                                      [&](const Setting& one) { return one.key == entry.key; });
    if (setting == settings_.end()) {
      return fmt::format("--config: {}: {} is not a setting{}", where, Quoted(entry.key),
                         DidYouMean(entry.key, known));
    }
    const bool several = TakesSeveral(*setting->option);
    if (!several && entry.values.size() != 1) {
      return fmt::format("--config: {}: {}: is an array of {}; expected one value", where, entry.key,
                         entry.values.size());
    }
    if (setting->from != kDefault || entry.values.empty()) continue;
    if (const std::string problem = Take(*setting, entry.values, where); !problem.empty())
      return "--config: " + problem;
  }
  return "";
}

std::string Settings::Fill() {
  for (Setting& setting : settings_) {
    if (setting.option->count() > 0) {
      setting.from = "command line";
      setting.values = setting.option->results();
    } else if (const std::string problem = TakeEnvironment(setting); !problem.empty()) {
      return problem;
    }
  }
  if (config_->count() == 0) {
    const char* value = std::getenv((prefix_ + "CONFIG").c_str());
    if (value != nullptr) file_ = value;
  } else if (file_.empty()) {
    return "--config: \"\" is not a name; expected a file";
  }
  return file_.empty() ? "" : TakeFile(file_);
}

std::string Settings::Shown() const {
  if (app_.get_option("--show-config")->count() == 0) return "";
  return format_ == "json" ? Json() : format_ == "toml" ? Toml() : Table();
}

std::string Settings::Literal(const Setting& setting) {
  const auto scalar = [&](const std::string& value) {
    if (IsFlag(*setting.option))
      return setting.option->as<bool>() ? std::string("true") : std::string("false");
    return IsNumber(value) ? value : InQuotes(value);
  };
  if (!TakesSeveral(*setting.option)) return scalar(setting.values.empty() ? "" : setting.values.back());
  std::string list;
  for (const std::string& value : setting.values) list += (list.empty() ? "" : ", ") + InQuotes(value);
  return "[" + list + "]";
}

std::string Settings::Table() const {
  size_t width = std::string_view("SETTING").size();
  size_t value_width = 0;
  std::vector<std::string> values;
  for (const Setting& setting : settings_) {
    const bool given = setting.from != kDefault;
    values.push_back(given ? TextOf(setting.values) : DefaultOf(*setting.option));
    width = std::max(width, setting.key.size());
    value_width = std::max(value_width, std::min(CharacterCount(values.back()), kWidestValue));
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  FROM\n", "SETTING", width, "VALUE", value_width);
  for (size_t i = 0; i < settings_.size(); ++i) {
    const std::string padding(value_width - std::min(value_width, CharacterCount(values[i])), ' ');
    text += fmt::format("{:<{}}  {}{}  {}\n", settings_[i].key, width, values[i], padding, settings_[i].from);
  }
  return text;
}

std::string Settings::Json() const {
  std::string text;
  for (const Setting& setting : settings_) {
    const bool given = setting.from != kDefault;
    text += fmt::format("{}  {{\"name\": {}, \"value\": {}, \"from\": {}, \"variable\": {}}}",
                        text.empty() ? "" : ",\n", InQuotes(setting.key),
                        given ? Literal(setting) : DefaultLiteral(*setting.option), InQuotes(setting.from),
                        InQuotes(setting.variables.front()));
  }
  return "[\n" + text + "\n]\n";
}

std::string Settings::Toml() const {
  std::string text = fmt::format(
      "# Settings of {0}, named as its flags. The command line comes before this file, and so does the\n"
      "# environment: {1}... and the flag's name. What is in force: {0} --config FILE --show-config\n",
      app_.get_name(), prefix_);
  for (const Setting& setting : settings_) {
    std::string help = Wrap(setting.option->get_description(), kCommentWidth);
    for (size_t at = help.find('\n'); at != std::string::npos; at = help.find('\n', at + 1))
      help.insert(at + 1, "# ");
    const bool given = setting.from != kDefault;
    text += fmt::format("\n# {}\n{}{} = {}\n", help, given ? "" : "#", setting.key,
                        given ? Literal(setting) : Example(*setting.option));
  }
  return text;
}

}  // namespace winnow
