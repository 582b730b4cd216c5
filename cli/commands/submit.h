#pragma once

#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct SubmitOptions {
  std::string file;        // "-": standard input
  std::string name;        // replaces the job file's, if given
  std::string request_id;  // "": a new one
  bool watch = false;
  bool verbose = false;  // of the watch
};
// Starts the job of the file.
Exit Submit(Session& session, const SubmitOptions& options);

}  // namespace winnow::cli
