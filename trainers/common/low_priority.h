#pragma once

#include <functional>

#include "absl/status/status.h"

namespace winnow {

// Calls `work` on a thread of lower priority, waits for it, and returns its result: for what need not be done
// soon while another process uses the slot. A whole process could not go back to its priority: Linux allows
// that to root only.
absl::Status AtLowPriority(const std::function<absl::Status()>& work);

}  // namespace winnow
