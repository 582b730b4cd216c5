#include "scheduler/state/trial_front.h"

#include <algorithm>
#include <utility>

namespace winnow {

bool TrialFront::IsOver(const ObjectivePoint& a, const ObjectivePoint& b) {
  ++compared_;
  return Dominates(a, b);
}

void TrialFront::Guard(TrialNumber number, TrialNumber by) {
  At(number).guard = by;
  At(by).guarded.push_back(number);
}

// On the front, or below the first member that dominates it. REQUIRES it has no guard and is not on the
// front.
void TrialFront::Place(Standing standing) {
  for (const Standing& member : members_) {
    if (IsOver(member.keys, standing.keys)) return Guard(standing.number, member.number);
  }
  std::erase_if(members_, [&](const Standing& member) {
    const bool falls = IsOver(standing.keys, member.keys);
    if (falls) Guard(member.number, standing.number);
    return falls;
  });
  const auto place =
      std::lower_bound(members_.begin(), members_.end(), standing.number,
                       [](const Standing& member, TrialNumber number) { return member.number < number; });
  members_.insert(place, std::move(standing));
}

void TrialFront::Offer(Standing standing, bool takes_part) {
  const TrialNumber number = standing.number;
  if (known_.size() < static_cast<size_t>(number)) known_.resize(static_cast<size_t>(number));
  if (!takes_part) standing.keys.clear();
  Known& own = At(number);
  const ObjectivePoint before = std::exchange(own.keys, standing.keys);
  const bool dominates_as_before =
      takes_part && !before.empty() && (own.keys == before || IsOver(own.keys, before));
  std::vector<TrialNumber> loose;  // need another guard
  if (!dominates_as_before) {
    std::erase_if(own.guarded, [&](TrialNumber one) {
      const bool leaves = !takes_part || !IsOver(own.keys, At(one).keys);
      if (leaves) loose.push_back(one);
      return leaves;
    });
  }
  if (const TrialNumber guard = own.guard; guard > 0) {
    // The guard dominates all that this one did.
    for (const TrialNumber one : std::exchange(loose, {})) Guard(one, guard);
    if (takes_part && IsOver(At(guard).keys, own.keys)) return;
    std::erase(At(guard).guarded, number);
    own.guard = 0;
  } else {
    std::erase_if(members_, [number](const Standing& member) { return member.number == number; });
  }
  if (takes_part) Place(std::move(standing));
  for (const TrialNumber one : loose) {
    At(one).guard = 0;
    Place({one, At(one).keys, 0});
  }
}

}  // namespace winnow
