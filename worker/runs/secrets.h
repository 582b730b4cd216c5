#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// Reads the secrets of an assignment: environment variable -> value. Each is a regular file of at most 64
// KiB: `folder`/OWNER/NAME if the job has an owner and the file exists, otherwise `folder`/everyone/NAME. No
// link may lead out of `folder`. A trailing line end is removed.
//
// FAILED_PRECONDITION names the secret and the worker, never a value: the file is missing or not of that
// kind, contains a NUL, or has less than 4 bytes, too few to hide in a trainer's output.
absl::StatusOr<std::map<std::string, std::string>> ReadSecrets(const std::filesystem::path& folder,
                                                               const std::string& worker,
                                                               const v1::Assignment& assignment);

}  // namespace winnow
