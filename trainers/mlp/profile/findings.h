#pragma once

#include <string>
#include <vector>

#include "trainers/mlp/profile/trace.h"

namespace winnow::mlp {

// Something about a run that a user should know and can do something about.
struct Finding {
  enum class Kind {
    kDataBound,
    kCommunicationBound,
    kStraggler,
    kDeadUnits,
    kLossNotFalling,
    kGradientsExploding,
  };
  Kind kind;
  std::string text;  // one sentence with the numbers and the threshold, and one on what to do
};

// What findings look at. Profile values that are known: "gradient_norm" (of a step, before clipping) and
// "dead_units" (of an epoch's last step: share of hidden units that were never above 0 in the epoch).
struct TrainingNumbers {
  std::vector<RankProfile> ranks;
  std::vector<double> losses;  // EpochResult::loss, epoch by epoch
};

// In the order of Kind; none for a healthy run. Rank 0's values count.
std::vector<Finding> Findings(const TrainingNumbers& numbers);

}  // namespace winnow::mlp
