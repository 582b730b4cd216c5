#pragma once

#include <string>

#include "absl/status/status.h"

namespace winnow {

// Returns a CSV cell in quotes.
std::string CsvQuoted(const std::string& text);

// Writes the text to the file at `path`, or, if that is "", to standard output.
absl::Status WriteOutput(const std::string& path, const std::string& text);

}  // namespace winnow
