#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "worker/host/process.h"

namespace winnow {

// The result of a program run to its end on its own loop.
struct ProgramResult {
  std::string out;
  std::string err;
  ProcessEnd end;
};

// Runs the spec; calls `on_output` after each piece of output with all of standard output so far; it may act
// on the process. Empty if the process does not end within 60 s (it is killed then).
inline std::optional<ProgramResult> RunSpec(
    const ProcessSpec& spec, const std::function<void(Process*, const std::string&)>& on_output = {}) {
  EventLoop loop;
  ProgramResult result;
  bool gone = false;
  Process* running = nullptr;
  auto process = Process::Start(&loop, spec,
                                {[&](Process::Stream stream, std::string_view bytes) {
                                   (stream == Process::kStdout ? result.out : result.err) += bytes;
                                   if (on_output) on_output(running, result.out);
                                 },
                                 [&](const ProcessEnd& end) {
                                   result.end = end;
                                   gone = true;
                                   loop.Quit();
                                 }});
  if (!process.ok()) return std::nullopt;
  running = process->get();
  loop.After(std::chrono::seconds(60), [&loop] { loop.Quit(); });
  loop.Run();
  if (!gone) return std::nullopt;
  return result;
}

inline ProcessSpec ShellSpec(const std::string& script) {
  return {{"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"}, "/tmp", ""};
}

}  // namespace winnow
