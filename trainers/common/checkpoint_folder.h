#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// Checkpoints of a folder: one file for a level (a round, an epoch), named "checkpoint-00000012" and the
// trainer's ending (".mlp").

// Paths of a folder's checkpoints, of any trainer.
std::set<std::string> CheckpointsIn(const std::string& folder);

// Creates the folder; deletes checkpoints of lower levels, and those of `begun_with`, when the new one is
// complete and on disk, as ReplaceFiles. `begun_with`: what was there when the training began, which goes on
// from one of them or from none. A higher one that came since is of another process, which the same trial was
// given to.
absl::Status WriteCheckpointFile(const std::string& folder, int64_t level, const std::string& ending,
                                 const std::string& text, const std::set<std::string>& begun_with = {});

// Whether such a higher one is there.
bool IsOvertaken(const std::string& folder, int64_t level, const std::set<std::string>& begun_with);

// Calls take(text) with the newest checkpoint, then with older ones until it returns OK. NotFound if it never
// does. Adds the name of each skipped checkpoint to *warnings, with the reason.
absl::Status ReadNewestCheckpointFile(const std::string& folder, const std::string& ending,
                                      const std::function<absl::Status(const std::string& text)>& take,
                                      std::vector<std::string>* warnings);

// Returns the newest checkpoint of the folder that `parse` accepts. NotFound and warnings are as above.
template <typename Checkpoint>
absl::StatusOr<Checkpoint> ReadNewestCheckpoint(const std::string& folder, const std::string& ending,
                                                absl::StatusOr<Checkpoint> (*parse)(std::string_view text),
                                                std::vector<std::string>* warnings) {
  absl::StatusOr<Checkpoint> newest;
  const absl::Status status = ReadNewestCheckpointFile(
      folder, ending,
      [&](const std::string& text) {
        newest = parse(text);
        return newest.status();
      },
      warnings);
  return status.ok() ? std::move(newest) : status;
}

}  // namespace winnow
