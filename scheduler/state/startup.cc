#include "scheduler/state/startup.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "scheduler/models/quantile.h"

namespace winnow {
namespace {

constexpr double kMicrosPerSecond = 1e6;
// What reports are apart at least, a unit, if they did not come all at once.
constexpr int64_t kLeastUnitUs = 50;

double SecondsAUnit(const Startup::Part& part) {
  return static_cast<double>(part.later_us) / static_cast<double>(part.later_units) / kMicrosPerSecond;
}

// Puts what is new in the place of the oldest.
template <typename T>
void Keep(const T& newest, size_t most, std::vector<T>& kept, size_t& next) {
  if (kept.size() < most) {
    kept.push_back(newest);
  } else {
    kept[next] = newest;
  }
  next = (next + 1) % most;
}

}  // namespace

bool Startup::Add(const Part& part) {
  const bool at_once = part.later_us < kLeastUnitUs * part.later_units;
  if (part.wait_units < 1 || part.wait_us < 0 || part.later_us < 0 || at_once) return false;
  wait_us_ += part.wait_us;
  wait_units_ += part.wait_units;
  Keep(part, kKept, parts_, next_);
  return true;
}

void Startup::AddRun(int64_t started_us, int64_t ended_us) {
  std::optional<int64_t> before;
  for (const int64_t end_us : ends_us_) {
    if (end_us <= started_us) before = std::max(before.value_or(end_us), end_us);
  }
  if (before) Keep(started_us - *before, kKept, pauses_us_, next_pause_);
  Keep(ended_us, kKept, ends_us_, next_end_);
}

double Startup::pause_seconds() const {
  if (pauses_us_.empty()) return 0;
  return Quantile({pauses_us_.begin(), pauses_us_.end()}, 0.5) / kMicrosPerSecond;
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

double Startup::Units(int64_t most, bool in_full) const {
  const auto start = seconds();
  if (!start) return 0;
  return Units(*start + (in_full ? pause_seconds() : 0), *unit_seconds(), most, in_full);
}

double Startup::Units(double seconds, double unit_seconds, int64_t most, bool in_full) {
  constexpr double kLeastUnits = 0.5;
  const double units = (in_full ? seconds : seconds - kFreeSeconds) / unit_seconds;
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
