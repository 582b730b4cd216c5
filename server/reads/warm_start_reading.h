#pragma once

#include "absl/status/statusor.h"
#include "server/engine/warm_start.h"
#include "server/reads/readable_folders.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

class Reads;

// Reads the sources of spec.warm_start: ended jobs with their own earlier results, and tables and studies
// from `files`. Each result counts once. INVALID_ARGUMENT names the field that cannot be read, has another
// goal, or brings the total above 10,000 results; it quotes nothing from a file. Otherwise the status of
// `go_on`, such as DEADLINE_EXCEEDED. REQUIRES: CheckSpec found nothing.
absl::StatusOr<WarmStart> ReadWarmStart(const v1::TuningJobSpec& spec, Reads& reads,
                                        const ReadableFolders& files, const GoOn& go_on);

}  // namespace winnow
