#pragma once

#include <string>

#include "absl/status/status.h"

namespace winnow {

// `problem` with what the data go by before it, as "channel train: /data/t.csv: …": an error of files and what
// they hold. Those of the group of ranks stay as they are, for they are told by their words.
absl::Status OfData(const std::string& name, const absl::Status& problem);

}  // namespace winnow
