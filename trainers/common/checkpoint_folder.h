#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace winnow {

// Checkpoints of a folder: one file per level (a round, an epoch), "checkpoint-00000012" and an ending. Of
// several endings the first is written now; the others, of earlier versions, are still read.

// Creates the folder; deletes older checkpoints when the new one is complete and on disk.
absl::Status WriteCheckpointFile(const std::string& folder, int64_t level,
                                 const std::vector<std::string>& endings, const std::string& text);

// Calls take(text) with the newest checkpoint, then with older ones until it returns OK. NotFound if it never
// does; adds skipped checkpoints to *warnings, with the reason.
absl::Status ReadNewestCheckpointFile(const std::string& folder, const std::vector<std::string>& endings,
                                      const std::function<absl::Status(const std::string& text)>& take,
                                      std::vector<std::string>* warnings);

}  // namespace winnow
