#pragma once

#include <string>

#include "absl/status/status.h"

namespace winnow {

// A cell of CSV in quotes.
std::string CsvQuoted(const std::string& text);

// The whole text to the file of this path, or, if it is "", to standard output.
absl::Status WriteOutput(const std::string& path, const std::string& text);

}  // namespace winnow
