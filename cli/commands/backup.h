#pragma once

#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct BackupOptions {
  std::string file;
  bool force = false;  // replaces `file`
};

// Saves a copy of the server's database as `file`, whole or not at all: it writes `file`.part, syncs it and
// renames it.
Exit Backup(Session& session, const BackupOptions& options);

}  // namespace winnow::cli
