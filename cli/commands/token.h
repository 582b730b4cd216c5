#pragma once

#include <cstdint>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct CreateTokenOptions {
  std::string role;  // viewer, submitter, worker or admin
  std::string name;
  int64_t days = 0;  // 0: it does not expire
};

// Prints the secret alone to standard output, so that a file can take it; its description to standard error.
Exit CreateToken(Session& session, const CreateTokenOptions& options);
Exit ListTokens(Session& session);
Exit RevokeToken(Session& session, const std::string& id);

}  // namespace winnow::cli
