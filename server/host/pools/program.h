#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// How a program ended, and what it said.
struct ProgramResult {
  int exit_code = 0;  // 128 + signal for a signal
  std::string output;
  std::string errors;

  // The errors, or else the output, or else the exit code, in one line.
  std::string Words() const;
};

// Runs the program (searched in PATH if it has no '/') with `input` as its standard input, to its end.
// It has this process's environment without the variables WINNOW_*, and `variables` ("NAME=value").
// A program whose errors contain `enough` has said all: it is killed, and its exit code is that of the
// signal. NOT_FOUND: it cannot be started; UNAVAILABLE: it did not end within `patience` or before `stop`
// became true, and was killed with the processes of its group.
absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& command, const std::string& input,
                                         std::chrono::milliseconds patience,
                                         const std::vector<std::string>& variables = {},
                                         const std::string& enough = "",
                                         const std::atomic<bool>* stop = nullptr);

}  // namespace winnow
