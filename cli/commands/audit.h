#pragma once

#include <cstdint>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct AuditOptions {
  std::string person;  // "": everyone
  std::string job;     // "": all
  std::string method;  // "": all
  std::string since;   // a time or an age, see SinceTime; "": all
  int64_t limit = 100;
};

// Prints entries of the audit log, the newest first.
Exit ShowAudit(Session& session, const AuditOptions& options);

// The time that `text` names: 2026-11-22, 2026-11-22T08:00:00Z, or an age before `now` such as 30m, 12h or
// 7d. INVALID_ARGUMENT: none of these.
absl::StatusOr<absl::Time> SinceTime(const std::string& text, absl::Time now);

}  // namespace winnow::cli
