#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace winnow {

// The first word of a command line that the program does not know; a flag before any other word.
struct UnknownWord {
  enum class Kind { kFlag, kCommand, kArgument };
  Kind kind = Kind::kArgument;
  std::string word;                   // of a flag without its value: "--slot"
  const CLI::App* command = nullptr;  // the program or its command that would take the word
  std::vector<std::string> nearest;   // the known names that are nearest to it, at most three

  // "there is no flag --slot; did you mean --slots?"
  std::string Problem() const;
};

// What became of a command line.
struct CommandLine {
  // --help or --version was asked for, and is printed: 0, or 1 if standard output does not take it, which is
  // said on standard error. Absent: neither was.
  std::optional<int> exit_code;
  std::string problem;                 // "" if there is none
  std::optional<UnknownWord> unknown;  // what the problem is about, if it is about a word
};

// What the library says of a missing or wrong value, in words of ours: "--slots needs a value",
// "--slots 1.5: expected a whole number", "--share 2: expected a number from 0 to 1".
std::string InWords(const CLI::Error& error);

// Sets the flags of `app` from the command line.
CommandLine ReadCommandLine(CLI::App& app, int argc, char** argv);

}  // namespace winnow
