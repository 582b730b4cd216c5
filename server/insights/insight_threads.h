#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/insights/forests.h"
#include "server/insights/insights.h"
#include "server/insights/learning_curves.h"

namespace winnow {

// The threads that compute insights: one for the tables of trials, one for curves, one for forests, so that
// none waits for a slower one, and nothing else waits for them.
struct InsightThreads {
  static absl::StatusOr<std::unique_ptr<InsightThreads>> Start(const std::string& file, const Clock& clock) {
    absl::StatusOr<std::unique_ptr<CurveReader>> curves = CurveReader::Start(file, clock);
    if (!curves.ok()) return curves.status();
    absl::StatusOr<std::unique_ptr<InsightReader>> tables = InsightReader::Start(file, clock);
    if (!tables.ok()) return tables.status();
    auto threads = std::make_unique<InsightThreads>();
    threads->curves = *std::move(curves);
    threads->tables = *std::move(tables);
    return threads;
  }

  Forests forests;
  std::unique_ptr<CurveReader> curves;
  // Uses the others: destroyed first. The thread of the curves uses it too, through a weak pointer.
  std::shared_ptr<InsightReader> tables;
};

}  // namespace winnow
