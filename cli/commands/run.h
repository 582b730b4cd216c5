#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/session/session.h"

// `winnow run`: a job from a command line instead of a job file.
namespace winnow::cli {

struct RunOptions {
  std::vector<std::string> words;  // the program and its arguments, some of them ranges
  std::string metric;
  bool maximize = false;
  std::string name;            // "": the program's
  std::string project;         // "": the default project
  std::string metric_regex;    // "": `metric=VALUE`, `metric: VALUE` and JSON
  std::string resource_regex;  // "": lines with the metric are counted
  int64_t trials = 20;
  int64_t parallel = 0;      // 0: as many as there are slots
  int64_t max_resource = 0;  // above 0: Hyperband up to this level
  bool resumes = false;
  bool source = false;  // sends the current directory's code
  bool print = false;   // prints the job file instead
  bool detach = false;  // does not watch
};

// Returns the job file. A word of the command that is a range becomes a hyperparameter, named after its flag:
//   --lr 1e-4:0.1:log   --layers=1:6   momentum=0:0.99   --dropout 0:1:real   --optimizer choice:adam,sgd
// Two integers make an integer range. INVALID_ARGUMENT: no word is a range, or a range has no name.
absl::StatusOr<std::string> JobFileOf(const RunOptions& options);

Exit RunProgram(Session& session, const RunOptions& options);

}  // namespace winnow::cli
