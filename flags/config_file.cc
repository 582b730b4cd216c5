#include "flags/config_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

namespace winnow {
namespace {

// Returns the value as the command line has it; nothing if it is neither text, number nor boolean.
std::optional<std::string> Word(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  return std::nullopt;
}

std::string At(const std::string& path, uint32_t line, const std::string& what) {
  return fmt::format("{}:{}: {}", path, line, what);
}

// Returns why the file cannot be trusted; "" if it can.
std::string Distrust(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return fmt::format("{}: {}", path, std::strerror(errno));
  if (S_ISDIR(about.st_mode)) return fmt::format("{} is a directory; expected a file", path);
  if (S_ISREG(about.st_mode) && (about.st_mode & S_IWOTH) != 0) {
    return fmt::format("everyone may write {}, and it decides which commands run; expected: chmod o-w {}",
                       path, path);
  }
  return "";
}

}  // namespace

ConfigFile ReadConfigFile(const std::string& path) {
  ConfigFile file;
  file.problem = Distrust(path);
  if (!file.problem.empty()) return file;
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad()) {
    file.problem = fmt::format("{}: {}", path, std::strerror(errno));
    return file;
  }
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    file.problem = At(path, error.source().begin.line, std::string(error.description()));
    return file;
  }
  for (const auto& [key, node] : table) {
    const uint32_t line = key.source().begin.line;
    ConfigEntry entry{std::string(key.str()), {}, static_cast<int>(line)};
    const auto add = [&](const toml::node& one) {
      const std::optional<std::string> word = Word(one);
      if (word) entry.values.push_back(*word);
      return word.has_value();
    };
    bool good = true;
    if (const toml::array* array = node.as_array()) {
      for (const toml::node& one : *array) good = good && add(one);
    } else {
      good = add(node);
    }
    if (!good) {
      file.problem =
          At(path, line,
             fmt::format("{}: expected a text, a number, true, false or an array of them", entry.key));
      return file;
    }
    file.entries.push_back(std::move(entry));
  }
  std::stable_sort(file.entries.begin(), file.entries.end(),
                   [](const ConfigEntry& a, const ConfigEntry& b) { return a.line < b.line; });
  return file;
}

}  // namespace winnow
