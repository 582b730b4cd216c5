#include "tests/support/run_command.h"

#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <stdexcept>

namespace winnow {

Ran RunCommand(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot be started: " + command);
  Ran ran;
  std::array<char, 4096> part;
  for (size_t bytes; (bytes = fread(part.data(), 1, part.size(), pipe)) > 0;)
    ran.output.append(part.data(), bytes);
  const int status = pclose(pipe);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

}  // namespace winnow
