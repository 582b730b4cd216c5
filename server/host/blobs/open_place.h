#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/host/blobs/blob_place.h"

namespace winnow {

// Where artifacts are, as the server's flags say it.
struct PlaceSettings {
  std::string place;  // s3://BUCKET[/PREFIX] or a folder; "": the folder of the state directory
  std::string endpoint, region, credentials_file, tls_ca;  // of buckets; see BucketSettings
};

// Checks what can be seen without a connection. INVALID_ARGUMENT names the flag; `flag`: that of the place.
absl::Status CheckPlaceSettings(const std::string& flag, const PlaceSettings& settings);

// The place, of a bucket after a probe: FAILED_PRECONDITION says why it cannot be used. `folder`: that of the
// state directory. REQUIRES: CheckPlaceSettings gave OK.
absl::StatusOr<std::unique_ptr<BlobPlace>> OpenPlace(const PlaceSettings& settings,
                                                     const std::filesystem::path& folder);

}  // namespace winnow
