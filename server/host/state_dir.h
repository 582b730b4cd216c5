#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// Creates `state_dir` and ties it to a database. It contains checkpoints by job and trial, so this database's
// trials must not find those of another database (one that was deleted, with a job of the same name): they
// are moved to `state_dir`/before-<its identity>, with one line to `log`. FAILED_PRECONDITION: it is not
// empty and was never a state folder. REQUIRES: no other server has it (OwnFiles).
absl::Status PrepareStateDir(const std::filesystem::path& state_dir, const std::string& database_identity,
                             const std::function<void(const std::string&)>& log);

}  // namespace winnow
