#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// The folders of one trial, the same for all its attempts and ranks: SHARED/jobs/JOB/trials/N/…
struct TrialDirectories {
  std::filesystem::path checkpoint;
  std::filesystem::path model;
  std::filesystem::path output;
};

// Their names alone.
absl::StatusOr<TrialDirectories> NameTrialDirectories(const std::filesystem::path& shared, std::string_view job,
                                                      int64_t trial);

// Creates them where they are missing. `empty_checkpoint` removes what earlier attempts left there.
absl::StatusOr<TrialDirectories> MakeTrialDirectories(const std::filesystem::path& shared,
                                                      std::string_view job, int64_t trial,
                                                      bool empty_checkpoint);

// WORK/jobs/JOB/TRIAL/attempt-A-rank-R, to which ".stdout.log" or ".stderr.log" is added. Its folder is
// created.
absl::StatusOr<std::filesystem::path> MakeLogPrefix(const std::filesystem::path& work, std::string_view job,
                                                    int64_t trial, int64_t attempt, int rank);

}  // namespace winnow
