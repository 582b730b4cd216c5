#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "artifact/folder.h"
#include "worker/host/run_as.h"

namespace winnow {

// The folder, in the worker's, of the homes of trainers that run as another user.
inline constexpr char kHomes[] = "homes";
// Likewise, of the credentials of ranks that run.
inline constexpr char kCredentials[] = "credentials";

// The file beside a trial's folders with what its programs have reported (KeptReports).
inline constexpr char kReportsFile[] = "reports";

// The folders of one trial, the same for all attempts and ranks: SHARED/jobs/JOB/trials/N/…
struct TrialDirectories {
  std::filesystem::path checkpoint;
  std::filesystem::path model;
  std::filesystem::path output;
};

// Returns the folder that holds them; below SHARED no part of its path may be a symbolic link.
absl::StatusOr<FolderName> NameTrialFolder(const std::filesystem::path& shared, std::string_view job,
                                           int64_t trial);

// Returns their names without creating them.
absl::StatusOr<TrialDirectories> NameTrialDirectories(const std::filesystem::path& shared,
                                                      std::string_view job, int64_t trial);

// What is removed of what earlier attempts, or another job with the same id, have left.
enum class Clearing { kNothing, kCheckpoint, kEverything };

// Creates the missing ones.
absl::StatusOr<TrialDirectories> MakeTrialDirectories(const std::filesystem::path& shared,
                                                      std::string_view job, int64_t trial, Clearing clearing);

// Gives the folders, with the files of the trial's earlier attempts and of this process, to the user alone.
// The folders above them stay this process's; the user can pass through them without listing names. REQUIRES:
// they exist, and the user can pass SHARED.
absl::Status GiveTrialDirectories(const std::filesystem::path& shared, std::string_view job, int64_t trial,
                                  const TrainerUser& user);

// Returns WORK/jobs/JOB/TRIAL/attempt-A-rank-R, to which ".stdout.log" or ".stderr.log" is added. Creates its
// folder.
absl::StatusOr<std::filesystem::path> MakeLogPrefix(const std::filesystem::path& work, std::string_view job,
                                                    int64_t trial, int64_t attempt, int rank);

}  // namespace winnow
