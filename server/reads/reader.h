#pragma once

#include "server/reads/reading_thread.h"
#include "server/reads/reads.h"

namespace winnow {

// Answers clients' reads of jobs, trials, reports and logs.
using Reader = ReadingThread<Reads>;

}  // namespace winnow
