#pragma once

#include <cstdint>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct DownloadOptions {
  std::string job;
  std::string folder;       // "": nothing is downloaded
  int64_t trial = 0;        // 0: the best
  bool checkpoint = false;  // in place of the model
};

// Brings the trial's model into the folder, which must be empty or not be there: whole and verified, or not
// at all. Another trial's model than the best is fetched from its worker when it is asked for, and for a moment
// after a trial has ended its model may still be on its way: this waits for it.
Exit Download(Session& session, const DownloadOptions& options);

}  // namespace winnow::cli
