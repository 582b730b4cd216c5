#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/session.h"

namespace winnow::cli {

// A command as shells complete it.
struct CommandWords {
  std::string name;
  std::string help;
  std::vector<std::string> flags;  // "--output"
  bool takes_job = false;          // its first argument is a job's id
  bool takes_file = false;
};

// A script for `shell`: "bash" or "zsh". It completes commands, flags and, by asking the server, jobs.
std::string CompletionScript(std::string_view shell, const std::vector<CommandWords>& commands);

// The ids of jobs, a line each, for such scripts.
Exit CompleteJobs(Session& session);

}  // namespace winnow::cli
