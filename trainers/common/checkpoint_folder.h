#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace winnow {

// Checkpoints of a folder: one file for a level (a round, an epoch), "checkpoint-00000012" and an ending. Of
// several endings the first is written now; the others are those of earlier versions, which are still found.

// Makes the folder; older checkpoints go when the new one is whole and on disk.
absl::Status WriteCheckpointFile(const std::string& folder, int64_t level,
                                 const std::vector<std::string>& endings, const std::string& text);

// Calls take(text) with the newest checkpoint, and with older ones until it returns OK. NotFound if it never
// does; what had to be passed over is added to *warnings, with the reason.
absl::Status ReadNewestCheckpointFile(const std::string& folder, const std::vector<std::string>& endings,
                                      const std::function<absl::Status(const std::string& text)>& take,
                                      std::vector<std::string>* warnings);

}  // namespace winnow
