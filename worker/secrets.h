#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "winnow/v1/worker.pb.h"

namespace winnow {

// The secrets that an assignment asks for: environment variable -> value. Each is a regular file of at most 64 KiB,
// `folder`/OWNER/NAME if the job has an owner, else or if that is not there `folder`/everyone/NAME; no link may lead out of
// `folder`. A line end at the end of it is left out.
//
// FAILED_PRECONDITION names the secret and the worker, never a value: it is not there or not such a file, it holds a NUL, or
// it has less than 4 bytes, which could not be hidden in what a trainer prints.
absl::StatusOr<std::map<std::string, std::string>> ReadSecrets(const std::filesystem::path& folder,
                                                               const std::string& worker,
                                                               const v1::Assignment& assignment);

}  // namespace winnow
