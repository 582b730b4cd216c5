#include "server/host/blobs/open_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "base/data_url.h"
#include "base/status_text.h"
#include "server/host/blobs/blob_bucket.h"
#include "server/host/blobs/blob_folder.h"
#include "server/host/blobs/bucket.h"

namespace winnow {

namespace {

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status CheckPlace(const char* flag, const std::string& place) {
  if (!HasScheme(place)) return absl::OkStatus();
  const absl::StatusOr<DataUrl> url = ParseDataUrl(place);
  if (!url.ok()) return Wrong(fmt::format("{}: {} {}", flag, ShownUrl(place), MessageOf(url.status())));
  if (url->is_s3()) return absl::OkStatus();
  return Wrong(
      fmt::format("{}: {} is no bucket; expected s3://BUCKET/PREFIX or a folder", flag, ShownUrl(place)));
}

}  // namespace

absl::Status CheckPlaceSettings(const PlaceSettings& settings, const std::string& copy) {
  for (const auto& [flag, place] :
       {std::pair("--artifacts", settings.place), std::pair("--copy-artifacts", copy)}) {
    if (absl::Status status = CheckPlace(flag, place); !status.ok()) return status;
  }
  const bool has_bucket = HasScheme(settings.place) || HasScheme(copy);
  for (const auto& [flag, value] :
       {std::pair("--s3-endpoint", settings.endpoint), std::pair("--s3-region", settings.region),
        std::pair("--s3-credentials", settings.credentials_file), std::pair("--s3-ca", settings.tls_ca)}) {
    if (!value.empty() && !has_bucket)
      return Wrong(fmt::format("{}: there is no bucket; expected --artifacts s3://BUCKET/PREFIX too", flag));
  }
  if (!settings.endpoint.empty()) {
    if (const absl::Status status = CheckEndpoint(settings.endpoint); !status.ok())
      return Wrong(fmt::format("--s3-endpoint: {} {}", ShownUrl(settings.endpoint), MessageOf(status)));
  }
  for (const auto& [name, file] :
       {std::pair("--s3-credentials", settings.credentials_file), std::pair("--s3-ca", settings.tls_ca)}) {
    if (!file.empty() && access(file.c_str(), R_OK) != 0)
      return Wrong(fmt::format("{}: \"{}\": {}", name, file, std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BlobPlace>> OpenPlace(const PlaceSettings& settings,
                                                     const std::filesystem::path& folder) {
  if (!HasScheme(settings.place)) {
    return std::make_unique<BlobFolder>(settings.place.empty() ? folder
                                                               : std::filesystem::absolute(settings.place));
  }
  const absl::StatusOr<DataUrl> url = ParseDataUrl(settings.place);
  if (!url.ok()) return url.status();
  BucketSettings of_bucket;
  of_bucket.bucket = url->host;
  of_bucket.endpoint = settings.endpoint;
  of_bucket.region = settings.region;
  of_bucket.credentials_file = settings.credentials_file;
  of_bucket.tls_ca = settings.tls_ca;
  absl::StatusOr<std::unique_ptr<Bucket>> bucket = Bucket::Open(std::move(of_bucket));
  if (!bucket.ok()) return bucket.status();
  std::string prefix = url->path;
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  return std::make_unique<BlobBucket>(*std::move(bucket), std::move(prefix));
}

}  // namespace winnow
