#pragma once

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace winnow {

// Calls `each` with 0 to count - 1, at most `threads` calls at a time, of which one is on the caller's
// thread. They begin in this order. Once a call has returned an error no further one begins. Then
// `at_error` is called once, if it is given: it may end the calls that run. Returns the first error.
absl::Status ForEachInParallel(size_t count, int threads, const std::function<absl::Status(size_t)>& each,
                               const std::function<void()>& at_error = nullptr);

}  // namespace winnow
