#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/facts.h"
#include "server/readable_folders.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

class Reads;

// What a job begins with.
struct WarmStart {
  std::vector<PriorObserved> priors;
  // "41 results used: 20 from job a-1, 21 from study.db; 3 left out: 2 with eta outside its range, 1 without
  // a value."
  // "": the spec names no earlier work.
  std::string text;
};

// Reads what spec.warm_start names: ended jobs with what they were started with themselves, and of `files` tables and
// studies. Each result counts once. INVALID_ARGUMENT names the field that cannot be read, is not of the same goal, or
// brings more than 10,000 results with those before; it holds nothing of what is in a file. DEADLINE_EXCEEDED and the like:
// what `go_on` says. REQUIRES CheckSpec found nothing.
absl::StatusOr<WarmStart> ReadWarmStart(const v1::TuningJobSpec& spec, Reads& reads, const ReadableFolders& files,
                                        const GoOn& go_on);

}  // namespace winnow
