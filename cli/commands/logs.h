#pragma once

#include <cstdint>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct LogsOptions {
  std::string job;
  int64_t trial = 0;
  int64_t attempt = 0;  // 0: the newest
  int32_t rank = 0;
  bool standard_error = false;
  bool raw = false;
  bool follow = false;  // continue until the attempt's process has ended, over restarts of the server
};
// Writes the output of a trial's process: unchanged with `raw` or without a terminal, otherwise cleaned by
// LogText. As JSON: a GetLogsResponse per line.
Exit ShowLogs(Session& session, const LogsOptions& options);

}  // namespace winnow::cli
