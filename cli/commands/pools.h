#pragma once

#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

// Shows the pools, and what was asked of their engines.
Exit ListPools(Session& session);

struct RenderPoolOptions {
  std::string pool;
  int32_t nodes = 1;
};
// Prints what the server would give to the pool's engine.
Exit RenderPool(Session& session, const RenderPoolOptions& options);

struct DoctorOptions {
  std::string pool;
  double patience = 900;  // seconds
};
// Runs a trivial trial on the pool, prints each step as it is taken, and what to do where it fails.
Exit CheckPool(Session& session, const DoctorOptions& options);

}  // namespace winnow::cli
