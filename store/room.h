#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// Whether the disk of a database that was full has room again for more than a line or two: OK, or
// RESOURCE_EXHAUSTED that says how much is free and how much is needed. OK too if the disk cannot be asked.
absl::Status CheckRoom(const std::string& file);

// RESOURCE_EXHAUSTED unless `bytes` more fit into `folder` and leave the server room to go on recording.
absl::Status CheckRoomFor(const std::string& folder, int64_t bytes);

// A few blocks beside a database, in `file`.reserve, that are given up when the disk is so full that the
// database cannot even be opened to read it. Does nothing if there is no room for them.
void KeepReserve(const std::string& file);
// Whether there was something to give up.
bool GiveUpReserve(const std::string& file);

}  // namespace winnow
