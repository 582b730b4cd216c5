#include "scheduler/fair_share.h"

#include <tuple>

#include "base/mutant.h"

namespace winnow {

bool operator<(const ProjectClaim& a, const ProjectClaim& b) {
  const auto level = [](const ProjectClaim& claim) {
    const double held = kAheadSeconds * (static_cast<double>(claim.slots) + 0.5);
    return (claim.slot_seconds + held) /
           (WINNOW_MUTANT("weights of projects are ignored") ? 1 : claim.weight);
  };
  const double a_level = level(a), b_level = level(b);
  return std::tie(b.job_class, a_level, a.project) < std::tie(a.job_class, b_level, b.project);
}

bool operator<(const Claim& a, const Claim& b) {
  const double a_share = static_cast<double>(a.slots) / a.weight;
  const double b_share = static_cast<double>(b.slots) / b.weight;
  return std::tie(b.priority, b.reserves, a_share, a.job) < std::tie(a.priority, a.reserves, b_share, b.job);
}

bool Binds(const Claim& holder, const Claim& other) {
  if (holder.job == other.job) return false;
  if (holder.job_class != other.job_class) return holder.job_class > other.job_class;
  return holder.project != other.project || holder.priority >= other.priority;
}

}  // namespace winnow
