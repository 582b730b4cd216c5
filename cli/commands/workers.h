#pragma once

#include "cli/session/session.h"

namespace winnow::cli {

// Lost workers and those that left are shown with `all` only.
Exit ListWorkers(Session& session, bool all);

}  // namespace winnow::cli
