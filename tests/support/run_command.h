#pragma once

#include <string>

namespace winnow {

struct Ran {
  int exit_code = 0;   // -1: a signal ended it
  std::string output;  // standard output and error together
};

// Runs a shell command to its end. Throws if it cannot be started.
Ran RunCommand(const std::string& command);

}  // namespace winnow
