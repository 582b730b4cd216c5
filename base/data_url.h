#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// Where the data of a channel is, if it is no path of the worker's host.
struct DataUrl {
  enum class Scheme { kHttp, kHttps, kS3 };
  Scheme scheme = Scheme::kHttps;
  std::string host;  // S3: the bucket; else with the port, if the URL has one
  std::string path;  // S3: the key, as it is; else from the first '/' on, with the query, percent-encoded

  bool is_s3() const { return scheme == Scheme::kS3; }
  // Whether it names all objects whose keys begin with `path`, instead of one.
  bool is_prefix() const { return is_s3() && (path.empty() || path.ends_with('/')); }
};

// Whether the text begins as a URL does: "SCHEME://".
bool HasScheme(std::string_view text);

// Parses http://, https:// and s3://. INVALID_ARGUMENT says what is wrong with it and what was expected, to
// stand after the URL's name; it never quotes the URL, which may hold a password.
absl::StatusOr<DataUrl> ParseDataUrl(std::string_view text);

// OK for the URL of an S3-compatible service: http:// or https:// with a host and no path. "{bucket}" in the
// host stands for the bucket's name (virtual-hosted style); without it the bucket is the first part of the
// path. INVALID_ARGUMENT as above.
absl::Status CheckEndpoint(std::string_view text);

// The URL as messages show it: without its query, which may hold a signature.
std::string ShownUrl(std::string_view text);

// The name of the file that it is downloaded to: the last part of its path, decoded; "data" where that is no
// file's name. REQUIRES: it is no prefix.
std::string FileNameOf(const DataUrl& url);

}  // namespace winnow
