#include "flags/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "base/names.h"

namespace winnow {
namespace {

// "--slot" or "-slot"; not "-", "--" or "-3".
bool IsFlag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word != "--" &&
         std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

// The command that the command line has named last: of "winnow token create" it is create.
const CLI::App* InnermostCommand(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return command;
}

// The flags of the command and of what it is a command of, which takes them after it too.
std::vector<std::string> FlagsOf(const CLI::App* command) {
  std::vector<std::string> flags;
  for (; command != nullptr; command = command->get_parent()) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) flags.push_back(name);
    }
  }
  return flags;
}

std::vector<std::string> CommandsOf(const CLI::App* command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command->get_subcommands(nullptr)) names.push_back(each->get_name());
  return names;
}

std::optional<UnknownWord> FindUnknownWord(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty()) return std::nullopt;
  UnknownWord unknown;
  unknown.command = InnermostCommand(app);
  const auto flag = std::find_if(left.begin(), left.end(), IsFlag);
  if (flag != left.end()) {
    unknown.kind = UnknownWord::Kind::kFlag;
    unknown.word = flag->substr(0, flag->find('='));
    const std::string name = unknown.word.substr(unknown.word.find_first_not_of('-'));
    for (const std::string& near : NearestNames(name, FlagsOf(unknown.command)))
      unknown.nearest.push_back("--" + near);
    return unknown;
  }
  unknown.word = left.front();
  const std::vector<std::string> commands = CommandsOf(unknown.command);
  if (!commands.empty()) {
    unknown.kind = UnknownWord::Kind::kCommand;
    unknown.nearest = NearestNames(unknown.word, commands);
  }
  return unknown;
}

std::optional<double> NumberIn(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? std::nullopt : std::optional(number);
}

// What was expected in the place of a value that CLI11 could not convert, which only happens to numbers.
std::string_view ExpectedFor(const std::string& value) {
  const std::optional<double> number = NumberIn(value);
  if (!number.has_value()) return "a number";
  if (*number != std::trunc(*number)) return "a whole number";
  return *number < 0 ? "a number of at least 0" : "a smaller number";
}

// A bound as CLI11 writes it, "0.000000", without its zeros.
std::string Plain(const std::string& bound) {
  const std::optional<double> number = NumberIn(bound);
  return number.has_value() ? fmt::format("{}", *number) : bound;
}

}  // namespace

std::string UnknownWord::Problem() const {
  const std::string meant = nearest.empty() ? "" : fmt::format("; did you mean {}?", OneOf(nearest));
  switch (kind) {
    case Kind::kFlag:
      return fmt::format("there is no flag {}{}", word, meant);
    case Kind::kCommand: {
      const std::string of = command->get_parent() == nullptr ? "" : command->get_name() + " ";
      return fmt::format("there is no command \"{}{}\"{}", of, word, meant);
    }
    case Kind::kArgument:
      return fmt::format("not expected: {}", word);
  }
  return "";
}

// Without expressions: std::regex goes as deep as a text is long.
std::string InWords(const CLI::Error& error) {
  constexpr std::string_view kMissing = ": 1 required ", kWrong = "Could not convert: ", kValue = ": Value ",
                             kOutside = " not in range ", kTo = " to ";
  const std::string problem = error.what();
  const std::string_view text = problem;
  if (const size_t at = text.find(kMissing); at != std::string_view::npos && text.ends_with(" missing"))
    return problem.substr(0, at) + " needs a value";
  if (const size_t equals = text.find(" = "); text.starts_with(kWrong) && equals != std::string_view::npos) {
    const std::string value = problem.substr(equals + 3);
    return fmt::format("{} {}: expected {}", text.substr(kWrong.size(), equals - kWrong.size()), value,
                       ExpectedFor(value));
  }
  const size_t given = text.find(kValue), outside = text.rfind(kOutside), to = text.rfind(kTo);
  if (given == std::string_view::npos || outside == std::string_view::npos || to == std::string_view::npos)
    return problem;
  const size_t begin = given + kValue.size(), low = outside + kOutside.size(), high = to + kTo.size();
  if (begin > outside || low > to) return problem;
  return fmt::format("{} {}: expected a number from {} to {}", text.substr(0, given),
                     text.substr(begin, outside - begin), Plain(problem.substr(low, to - low)),
                     Plain(problem.substr(high)));
}

CommandLine ReadCommandLine(CLI::App& app, int argc, char** argv) {
  CommandLine line;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    app.exit(asked);
    std::cout.flush();
    line.exit_code = std::cout.good() ? 0 : 1;
    if (!std::cout.good()) fmt::print(stderr, "{}: cannot write to standard output\n", app.get_name());
  } catch (const CLI::ExtrasError& error) {
    line.problem = error.what();
    line.unknown = FindUnknownWord(app);
  } catch (const CLI::RequiredError& error) {
    // What is missing may be there under a misspelt name.
    line.problem = error.what();
    line.unknown = FindUnknownWord(app);
    if (line.unknown.has_value() && line.unknown->kind == UnknownWord::Kind::kArgument) line.unknown.reset();
  } catch (const CLI::ParseError& error) {
    line.problem = InWords(error);
  }
  if (line.unknown.has_value()) line.problem = line.unknown->Problem();
  return line;
}

}  // namespace winnow
