#include "scheduler/part_time.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

namespace winnow {

int64_t ExpectedPartUs(const JobState& state, const Admission& admission) {
  const std::optional<double> startup = state.startup().seconds();
  const std::optional<double> unit = state.startup().unit_seconds();
  if (!startup || !unit) return 0;
  int64_t to = admission.to;
  if (to == 0) {
    const auto* created = admission.decision ? std::get_if<TrialCreated>(&*admission.decision) : nullptr;
    to = state.spec().OwnEnd(created != nullptr ? created->configuration
                                                : state.trial(admission.trial).configuration);
  }
  const int64_t units = to - admission.from;
  if (units <= 0) return 0;
  constexpr double kMicros = 1e6, kMost = 1e15;
  return std::llround(std::min(kMost, (*startup + static_cast<double>(units) * *unit) * kMicros));
}

}  // namespace winnow
