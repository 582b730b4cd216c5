#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "artifact/folder.h"
#include "worker/host/run_as.h"

namespace winnow {

// Folder of the homes of trainers that run as another user than their worker, in the worker's.
inline constexpr char kHomes[] = "homes";

// The folders of one trial, the same for all its attempts and ranks: SHARED/jobs/JOB/trials/N/…
struct TrialDirectories {
  std::filesystem::path checkpoint;
  std::filesystem::path model;
  std::filesystem::path output;
};

// The folder that holds them; below SHARED no part of its path may be a symbolic link.
absl::StatusOr<FolderName> NameTrialFolder(const std::filesystem::path& shared, std::string_view job, int64_t trial);

// Their names alone.
absl::StatusOr<TrialDirectories> NameTrialDirectories(const std::filesystem::path& shared, std::string_view job,
                                                      int64_t trial);

// Creates them where they are missing. `empty_checkpoint` removes what earlier attempts left there.
absl::StatusOr<TrialDirectories> MakeTrialDirectories(const std::filesystem::path& shared,
                                                      std::string_view job, int64_t trial,
                                                      bool empty_checkpoint);

// Makes the folders, with what the trial's earlier attempts and this process have put there, the user's alone.
// Those above them stay this process's, who gets through them and sees no names. REQUIRES: they are made; SHARED
// may be passed by the user.
absl::Status GiveTrialDirectories(const std::filesystem::path& shared, std::string_view job, int64_t trial,
                                  const TrainerUser& user);

// WORK/jobs/JOB/TRIAL/attempt-A-rank-R, to which ".stdout.log" or ".stderr.log" is added. Its folder is
// created.
absl::StatusOr<std::filesystem::path> MakeLogPrefix(const std::filesystem::path& work, std::string_view job,
                                                    int64_t trial, int64_t attempt, int rank);

}  // namespace winnow
