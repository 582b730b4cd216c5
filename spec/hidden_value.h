#pragma once

namespace winnow {

// What an environment variable of a job is shown as to those who do not own the job.
inline constexpr char kHiddenValue[] = "(hidden)";

}  // namespace winnow
