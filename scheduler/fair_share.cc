#include "scheduler/fair_share.h"

#include <tuple>

namespace winnow {

bool operator<(const Claim& a, const Claim& b) {
  const double a_share = static_cast<double>(a.slots) / a.weight;
  const double b_share = static_cast<double>(b.slots) / b.weight;
  return std::tie(b.priority, b.reserves, a_share, a.job) < std::tie(a.priority, a.reserves, b_share, b.job);
}

bool Binds(const Claim& holder, const Claim& other) {
  return holder.job != other.job && holder.priority >= other.priority;
}

}  // namespace winnow
