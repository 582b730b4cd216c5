#pragma once

#include <string>

#include "absl/status/status.h"

namespace winnow {

// Returns `problem`, an error of files and their content, with the data's name before it: "channel train:
// /data/t.csv: …". Errors of the group of ranks stay unchanged, because they are recognised by their words.
absl::Status OfData(const std::string& name, const absl::Status& problem);

}  // namespace winnow
