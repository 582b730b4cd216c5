#pragma once

#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct WorkerSchedulingOptions {
  std::string worker;
  std::string reason;
  bool wait = true;  // drain: wait until the worker holds nothing
};

// Gives the worker no new trials; its running ones continue.
Exit Cordon(Session& session, const WorkerSchedulingOptions& options);
// Cordons the worker; its trials are checkpointed and handed back.
Exit Drain(Session& session, const WorkerSchedulingOptions& options);
// Gives the worker trials again; also ends a quarantine.
Exit Uncordon(Session& session, const WorkerSchedulingOptions& options);

}  // namespace winnow::cli
