#include "scheduler/state/startup.h"

#include <algorithm>
#include <cmath>

#include "scheduler/models/quantile.h"

namespace winnow {
namespace {

constexpr double kMicrosPerSecond = 1e6;
// What reports are apart at least, a unit, if they did not come all at once.
constexpr int64_t kLeastUnitUs = 1000;

double SecondsAUnit(const Startup::Part& part) {
  return static_cast<double>(part.later_us) / static_cast<double>(part.later_units) / kMicrosPerSecond;
}

}  // namespace

void Startup::Add(const Part& part) {
  const bool at_once = part.later_us < kLeastUnitUs * part.later_units;
  if (part.wait_units < 1 || part.wait_us < 0 || part.later_us < 0 || at_once) return;
  wait_us_ += part.wait_us;
  wait_units_ += part.wait_units;
  if (parts_.size() < kKept) {
    parts_.push_back(part);
  } else {
    parts_[next_] = part;
  }
  next_ = (next_ + 1) % kKept;
}

std::optional<double> Startup::unit_seconds() const {
  std::vector<double> seconds;
  for (const Part& part : parts_) {
    if (part.later_units > 0) seconds.push_back(SecondsAUnit(part));
  }
  if (seconds.empty()) return std::nullopt;
  return Quantile(std::move(seconds), 0.5);
}

std::optional<double> Startup::seconds() const {
  const auto unit = unit_seconds();
  if (!unit) return std::nullopt;
  std::vector<double> seconds;
  for (const Part& part : parts_) {
    const double own = part.later_units > 0 ? SecondsAUnit(part) : *unit;
    const double wait = static_cast<double>(part.wait_us) / kMicrosPerSecond;
    seconds.push_back(std::max(0.0, wait - own * static_cast<double>(part.wait_units)));
  }
  return Quantile(std::move(seconds), 0.5);
}

double Startup::Units(int64_t most) const {
  const auto start = seconds();
  return start ? Units(*start, *unit_seconds(), most) : 0;
}

double Startup::Units(double seconds, double unit_seconds, int64_t most) {
  constexpr double kLeastUnits = 0.5;
  const double units = (seconds - kFreeSeconds) / unit_seconds;
  if (!(units >= kLeastUnits)) return 0;
  return std::min(static_cast<double>(most), std::exp2(std::round(std::log2(units))));
}

double Startup::total_seconds() const {
  const auto unit = unit_seconds();
  if (!unit) return 0;
  const double wait = static_cast<double>(wait_us_) / kMicrosPerSecond;
  return std::max(0.0, wait - *unit * static_cast<double>(wait_units_)) +
         static_cast<double>(silent_us_) / kMicrosPerSecond;
}

}  // namespace winnow
