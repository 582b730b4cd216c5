#pragma once

#include <cstdint>
#include <optional>

namespace winnow {

// The most that the jobs of a project, or of a person in it, may have. 0: no limit.
struct Quota {
  int64_t slots = 0;         // that live attempts hold at once
  double gpus = 0;           // likewise; parts of GPUs count as parts
  double node_hours = 0;     // hours of ranks in a calendar month (UTC)
  int64_t running_jobs = 0;  // jobs with a live attempt
  double storage_gib = 0;    // of the artifacts of their jobs

  bool limits() const {
    return slots > 0 || gpus > 0 || node_hours > 0 || running_jobs > 0 || storage_gib > 0;
  }
  bool operator==(const Quota&) const = default;
};

// What they have now, or what a trial would add to it.
struct QuotaUse {
  int64_t slots = 0;
  double gpus = 0;
  int64_t node_us = 0;  // in this month
  int64_t running_jobs = 0;
  int64_t stored_bytes = 0;

  void Add(const QuotaUse& more);
  bool operator==(const QuotaUse&) const = default;
};

enum class QuotaPart { kSlots, kGpus, kRunningJobs, kNodeHours, kStorage };

// The first part of the quota that forbids to start what takes `more` now. Absent: none does.
std::optional<QuotaPart> Forbids(const Quota& quota, const QuotaUse& use, const QuotaUse& more);

// Whether the quota forbids to store that many bytes more; for 0, whether it is used up.
bool ForbidsStoring(const Quota& quota, const QuotaUse& use, int64_t bytes);

// In a month, in microseconds; 0: no limit.
int64_t NodeTimeOf(const Quota& quota);

}  // namespace winnow
