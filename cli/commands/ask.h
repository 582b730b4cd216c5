#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/session/session.h"

namespace winnow::cli {

// Exit code for nothing left to train: the job has ended (ask), or the trial was stopped (tell).
constexpr int kNoMore = 3;

struct AskOptions {
  std::string job;
  int64_t count = 1;
  double wait = 0;     // seconds
  std::string client;  // "": this host
};
// Prints a line for each trial: TRIAL ATTEMPT FROM TO, then NAME=VALUE of each active hyperparameter,
// separated by single blanks. Values with characters special to a shell are quoted. Prints nothing if there
// is no trial now.
Exit Ask(Session& session, const AskOptions& options);

struct TellOptions {
  std::string job;
  int64_t trial = 0;
  int64_t attempt = 0;
  std::vector<std::string> metrics;  // NAME=VALUE
  int64_t resource = 0;              // level of the metrics; 0: not given
  bool failed = false;
  std::string reason;
};
Exit Tell(Session& session, const TellOptions& options);
Exit Complete(Session& session, const TellOptions& options);

}  // namespace winnow::cli
