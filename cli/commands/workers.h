#pragma once

#include "cli/session/session.h"

namespace winnow::cli {

// Shows lost workers and those that left only with `all`.
Exit ListWorkers(Session& session, bool all);

}  // namespace winnow::cli
