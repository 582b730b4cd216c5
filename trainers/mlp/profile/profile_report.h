#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/profile/profile.h"

namespace winnow::mlp {

// Rank 0 prints the table of all ranks' phases and the findings on `out`, and writes both to `folder` as
// profile.txt, with trace.json, a Chrome trace; "": writes neither. `losses`: of the epochs. All ranks call
// it.
absl::Status ReportProfile(const Profile& profile, const std::vector<double>& losses, Communicator* ranks,
                           const std::string& folder, std::FILE* out);

}  // namespace winnow::mlp
