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
  std::vector<std::string> words;  // the commands below it: "create", "list", "revoke"
  bool takes_job = false;          // its first argument is a job's id
  bool takes_file = false;
};

// Returns a script for `shell`: "bash", "zsh" or "fish". It completes commands, flags, their words and, by
// asking the server, job ids and the columns by which a job's trials can be sorted.
std::string CompletionScript(std::string_view shell, const std::vector<CommandWords>& commands);

// Prints the ids of jobs, one per line, for such scripts.
Exit CompleteJobs(Session& session);
// Prints the names of the user's contexts, one per line.
Exit CompleteContexts(Session& session);
// Prints a job's sort columns, one per line; without hyperparameters if there is no such job.
Exit CompleteColumns(Session& session, const std::string& job);

}  // namespace winnow::cli
