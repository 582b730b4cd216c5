#pragma once

#include "absl/status/statusor.h"
#include "server/engine/warm_start.h"
#include "server/reads/readable_folders.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

class Reads;

// Reads what spec.warm_start names: ended jobs with what they were started with themselves, and of `files` tables and
// studies. Each result counts once. INVALID_ARGUMENT names the field that cannot be read, is not of the same goal, or
// brings more than 10,000 results with those before; it holds nothing of what is in a file. DEADLINE_EXCEEDED and the like:
// what `go_on` says. REQUIRES CheckSpec found nothing.
absl::StatusOr<WarmStart> ReadWarmStart(const v1::TuningJobSpec& spec, Reads& reads, const ReadableFolders& files,
                                        const GoOn& go_on);

}  // namespace winnow
