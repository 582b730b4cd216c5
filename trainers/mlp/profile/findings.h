#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/profile/profile.h"
#include "trainers/mlp/profile/trace.h"

namespace winnow::mlp {

// An observation about a run that a user should know and can act on.
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
  std::string text;  // one sentence with the numbers and the threshold, and one with advice
};

// The data of findings. Recognised profile values: "gradient_norm" (of a step, before clipping) and
// "dead_units" (at an epoch's last step: fraction of hidden units that were never above 0 in the epoch).
struct TrainingNumbers {
  std::vector<RankProfile> ranks;
  std::vector<double> losses;  // EpochResult::loss, epoch by epoch
};

// In the order of Kind; none for a healthy run. Rank 0's values count.
std::vector<Finding> Findings(const TrainingNumbers& numbers);

// Rank 0 prints the table of all ranks' phases and the findings on `out`, and writes both to `folder` as
// profile.txt, with trace.json, a Chrome trace; "": writes neither. `losses`: of the epochs. All ranks call
// it.
absl::Status ReportProfile(const Profile& profile, const std::vector<double>& losses, Communicator* ranks,
                           const std::string& folder, std::FILE* out);

}  // namespace winnow::mlp
