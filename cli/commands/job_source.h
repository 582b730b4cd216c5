#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cli/output/terminal.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// Reads and checks the job file at `path` ("-": standard input). Makes its working directory absolute; the
// default is the file's folder. `name`, if given, replaces the job's. The error lists all problems, one line
// "  field: description" each.
absl::StatusOr<v1::TuningJobSpec> LoadJob(const std::string& path, const std::string& name);

// The same for the text of a job file, whose relative paths are relative to `folder`. Errors name it as
// `shown`.
absl::StatusOr<v1::TuningJobSpec> CheckedJob(const std::string& text, const std::string& shown,
                                             const std::filesystem::path& folder, const std::string& name);

// Returns `text` as a job's name: other characters become '-', and a letter or digit comes first.
std::string JobNameFrom(std::string_view text);

// Prints a line "winnow: warning: ..." for each suspicious part of the spec.
void PrintWarnings(const v1::TuningJobSpec& spec, Terminal* error);

}  // namespace winnow::cli
