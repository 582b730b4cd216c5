#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/session/session.h"

namespace winnow::cli {

// A command as shells complete it.
struct CommandWords {
  std::string name;
  std::string help;
  std::vector<std::string> flags;  // "--output"
  bool takes_job = false;          // its first argument is a job's id
  bool takes_file = false;
};

// A script for `shell`: "bash", "zsh" or "fish". It completes commands, flags, their words and, by asking the server, jobs
// and the columns that a job's trials can be sorted by.
std::string CompletionScript(std::string_view shell, const std::vector<CommandWords>& commands);

// The ids of jobs, a line each, for such scripts.
Exit CompleteJobs(Session& session);
// What trials of a job can be sorted by, a line each; without its hyperparameters if there is no such job.
Exit CompleteColumns(Session& session, const std::string& job);

}  // namespace winnow::cli
