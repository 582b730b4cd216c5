#pragma once

#include "absl/status/statusor.h"
#include "server/reads/readable_folders.h"
#include "spec/checks/files.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Checks a spec as CreateTuningJob does; INVALID_ARGUMENT has all violations. Checks only files that the
// server reads for jobs.
absl::Status CheckCreate(const v1::CreateTuningJobRequest& request, Training training,
                         const ReadableFolders& files);
// Returns the status of `go_on` if it is not OK, as soon as it is polled.
absl::StatusOr<v1::TuningPlan> Preview(const v1::PreviewTuningJobRequest& request, const GoOn& go_on);

}  // namespace winnow
