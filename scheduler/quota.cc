#include "scheduler/quota.h"

#include <algorithm>

#include "base/mutant.h"

namespace winnow {
namespace {

// Sums of shares such as 0.1 must not exceed a whole number by their last bit.
constexpr double kGpuRounding = 1e-9;
constexpr double kHourUs = 3.6e9;
constexpr double kGib = 1 << 30;

}  // namespace

void QuotaUse::Add(const QuotaUse& more) {
  slots += more.slots;
  gpus += more.gpus;
  node_us += more.node_us;
  running_jobs += more.running_jobs;
  stored_bytes += more.stored_bytes;
}

int64_t NodeTimeOf(const Quota& quota) {
  constexpr double kMost = 9e18;
  return quota.node_hours <= 0
             ? 0
             : std::max<int64_t>(1, static_cast<int64_t>(std::min(kMost, quota.node_hours * kHourUs)));
}

std::optional<QuotaPart> Forbids(const Quota& quota, const QuotaUse& use, const QuotaUse& more) {
  const int64_t slots =
      WINNOW_MUTANT("a gang counts as one slot") ? std::min<int64_t>(1, more.slots) : more.slots;
  if (quota.slots > 0 && use.slots + slots > quota.slots) return QuotaPart::kSlots;
  if (quota.gpus > 0 && more.gpus > 0 && use.gpus + more.gpus > quota.gpus + kGpuRounding)
    return QuotaPart::kGpus;
  if (quota.running_jobs > 0 && more.running_jobs > 0 &&
      use.running_jobs + more.running_jobs > quota.running_jobs &&
      !WINNOW_MUTANT("any number of jobs may run"))
    return QuotaPart::kRunningJobs;
  if (quota.node_hours > 0 && use.node_us >= NodeTimeOf(quota) &&
      !WINNOW_MUTANT("trials start when the node-hours are used up"))
    return QuotaPart::kNodeHours;
  if (ForbidsStoring(quota, use, 0)) return QuotaPart::kStorage;
  return std::nullopt;
}

bool ForbidsStoring(const Quota& quota, const QuotaUse& use, int64_t bytes) {
  const auto after = static_cast<double>(use.stored_bytes + std::max<int64_t>(1, bytes));
  return quota.storage_gib > 0 && after > quota.storage_gib * kGib;
}

}  // namespace winnow
