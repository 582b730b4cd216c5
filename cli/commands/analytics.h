#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/session/session.h"

namespace winnow::cli {

// Prints one row per trial: state, hyperparameters, final objective, resource used, times and stop reason.
Exit ShowAnalytics(Session& session, const std::string& job);

struct MetricsOptions {
  std::string job;
  std::vector<int64_t> trials;       // empty: all
  std::vector<std::string> metrics;  // empty: all
};
// Prints learning curves.
Exit ShowMetrics(Session& session, const MetricsOptions& options);

}  // namespace winnow::cli
