#pragma once

#include <string>

#include "absl/status/status.h"

namespace winnow {

// Returns a status's message as a std::string; Debian's absl::string_view is a distinct type.
inline std::string MessageOf(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

}  // namespace winnow
