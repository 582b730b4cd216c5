#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/output/terminal.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// The job file at `path` ("-": standard input), read and checked, its working directory made absolute: the
// file's folder unless it names one. `name`, if given, replaces the job's. The error lists everything that is
// wrong, one line "  field: description" each.
absl::StatusOr<v1::TuningJobSpec> LoadJob(const std::string& path, const std::string& name);

// What the spec may not mean, a line "winnow: warning: ..." each.
void PrintWarnings(const v1::TuningJobSpec& spec, Terminal* error);

}  // namespace winnow::cli
