#pragma once

#include "server/reading_thread.h"
#include "server/reads.h"

namespace winnow {

// Answers what clients ask of jobs, trials, reports and logs.
using Reader = ReadingThread<Reads>;

}  // namespace winnow
