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

// Checks what can be seen without a connection. `copy`: another place, of --copy-artifacts; "": none.
// INVALID_ARGUMENT names the flag.
absl::Status CheckPlaceSettings(const PlaceSettings& settings, const std::string& copy);

// The place, not yet reached. FAILED_PRECONDITION: the credentials of a bucket cannot be used. `folder`: that
// of the state directory. REQUIRES: CheckPlaceSettings gave OK.
absl::StatusOr<std::unique_ptr<BlobPlace>> OpenPlace(const PlaceSettings& settings,
                                                     const std::filesystem::path& folder);

}  // namespace winnow
