#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/profile/profile.h"

namespace winnow::mlp {

// The content of one rank's Profile.
struct RankProfile {
  int rank = 0;
  std::vector<Profile::Span> spans;
  std::vector<Profile::Value> values;
  std::array<double, kPhases> seconds = {};  // of thread 0, including spans beyond the limit
};

std::string_view PhaseName(Phase phase);  // "load", "forward", ...

RankProfile TakeProfile(const Profile& profile, int rank);

// Returns every rank's profile, by rank, on every rank. All ranks call it.
absl::StatusOr<std::vector<RankProfile>> GatherProfiles(const Profile& profile, Communicator* ranks);

// Returns a trace for chrome://tracing and Perfetto: an event per span (pid: rank, tid: thread, microseconds
// since the rank's profile was made, args: step) and a counter per value.
std::string ChromeTrace(const std::vector<RankProfile>& ranks);

// Seconds of thread 0's phases, of one rank.
struct PhaseTimes {
  double seconds = 0;
  double share = 0;          // of all phases of the rank
  double mean = 0, p99 = 0;  // seconds per step, over the steps with the phase; 0 if there are none
};
std::array<PhaseTimes, kPhases> TimesOf(const RankProfile& rank);

// Returns the times of all ranks as lines of text, without phases that took no time.
std::string PhaseTable(const std::vector<RankProfile>& ranks);

}  // namespace winnow::mlp
