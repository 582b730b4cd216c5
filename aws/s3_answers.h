#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// One page of an answer of S3's ListObjectsV2.
struct ListedObjects {
  struct Object {
    std::string key;
    int64_t size = 0;  // -1: the server does not say
  };
  std::vector<Object> objects;
  std::string next;  // continuation token; "": the last page
};
// INVALID_ARGUMENT: it is no such answer. Keys are percent-encoded in it if it says so (encoding-type=url).
absl::StatusOr<ListedObjects> ParseListing(std::string_view xml);

// The code of an error of S3, "" if it is none: an identifier, so that a server cannot put anything into
// messages.
std::string S3ErrorCode(std::string_view body);

// Whether a request that was answered with this status may be answered otherwise later.
bool IsPassingStatus(int status);

}  // namespace winnow
