#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// Makes `state_dir` and ties it to a database. Checkpoints lie in it by job and trial, so those of another
// database (one that was deleted, and whose job had the same name) must not be found by this one's trials:
// they are set aside in `state_dir`/before-<its identity>. `log` is told so in one line. FAILED_PRECONDITION: it holds
// something and was never a state folder. REQUIRES no other server has it (OwnFiles).
absl::Status PrepareStateDir(const std::filesystem::path& state_dir, const std::string& database_identity,
                             const std::function<void(const std::string&)>& log);

}  // namespace winnow
