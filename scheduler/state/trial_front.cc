#include "scheduler/state/trial_front.h"

#include <algorithm>

#include "scheduler/state/job_state.h"

namespace winnow {
void TrialFront::Add(Standing standing) {
  if (std::any_of(members_.begin(), members_.end(),
                  [&](const Standing& other) { return Dominates(other.keys, standing.keys); }))
    return;
  std::erase_if(members_, [&](const Standing& other) { return Dominates(standing.keys, other.keys); });
  const auto place =
      std::lower_bound(members_.begin(), members_.end(), standing.number,
                       [](const Standing& member, TrialNumber number) { return member.number < number; });
  members_.insert(place, std::move(standing));
}

void TrialFront::Offer(const SearchSpec& spec, const std::vector<TrialState>& trials,
                       const TrialState& trial) {
  Standing standing = FinalStanding(spec, trial);
  const bool counts = TakesPart(trial, standing);
  const auto before = std::find_if(members_.begin(), members_.end(),
                                   [&](const Standing& member) { return member.number == trial.number; });
  if (before == members_.end()) {
    if (counts) Add(std::move(standing));
    return;
  }
  if (counts && (standing.keys == before->keys || Dominates(standing.keys, before->keys))) {
    members_.erase(before);
    Add(std::move(standing));
    return;
  }
  // Trials that it dominated may come forward.
  members_.clear();
  for (const TrialState& each : trials) {
    Standing other = FinalStanding(spec, each);
    if (TakesPart(each, other)) Add(std::move(other));
  }
}

}  // namespace winnow
