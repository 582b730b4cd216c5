#pragma once

#include <cstdint>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct DownloadOptions {
  std::string job;
  std::string folder;       // "": no download
  int64_t trial = 0;        // 0: the best
  bool checkpoint = false;  // instead of the model
};

// Downloads the trial's model into the folder, which must be empty or missing: whole and verified, or not at
// all. A model other than the best is fetched from its worker on request, and shortly after a trial's end its
// model may still be in transfer: this waits for it.
Exit Download(Session& session, const DownloadOptions& options);

}  // namespace winnow::cli
