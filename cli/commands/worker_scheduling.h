#pragma once

#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct WorkerSchedulingOptions {
  std::string worker;
  std::string reason;
  bool wait = true;  // drain: until it holds nothing
};

// The worker is given nothing new; what it runs goes on.
Exit Cordon(Session& session, const WorkerSchedulingOptions& options);
// What it runs is checkpointed and handed back too.
Exit Drain(Session& session, const WorkerSchedulingOptions& options);
// It is given trials again; ends a quarantine too.
Exit Uncordon(Session& session, const WorkerSchedulingOptions& options);

}  // namespace winnow::cli
