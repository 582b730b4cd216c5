#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "store/database/database.h"

namespace winnow {

// OK if the disk of a database has room for more than a few rows again, or if its room is unknown. Otherwise
// RESOURCE_EXHAUSTED with the free and the required bytes.
absl::Status CheckRoom(const std::string& file);

// RESOURCE_EXHAUSTED unless `bytes` more fit into `folder` and leave the server enough room to continue.
absl::Status CheckRoomFor(const std::string& folder, int64_t bytes);

// Reserves a few blocks beside a database, in `file`.reserve, which are released when the disk is so full
// that the database cannot even be opened for reading. Does nothing if there is no room for them.
void KeepReserve(const std::string& file);
// Whether there was a reserve to release.
bool GiveUpReserve(const std::string& file);

// Writes zeros to the end of a file database's log, up to the size at which SQLite begins it anew. Commits
// then overwrite blocks instead of adding some: a disk synchronises that in about half the time, since the
// file's size and its place on the disk stay as they are. SQLite ignores what follows its last frame. Does
// nothing if the disk has little room, or if another process is writing. REQUIRES: no transaction is open.
void GrowLog(Database& database);

}  // namespace winnow
