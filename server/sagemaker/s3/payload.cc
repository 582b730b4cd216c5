#include "server/sagemaker/s3/payload.h"

#include <charconv>
#include <map>

#include "absl/strings/escaping.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"
#include "server/sagemaker/wire/digests.h"

namespace winnow {
namespace {

constexpr std::string_view kChecksumHeader = "x-amz-checksum-";

using Trailers = std::map<std::string, std::string>;

absl::Status IncompleteChunks() {
  return AwsError("IncompleteBody", "The body is not in the chunks that its headers announce.");
}

// Takes a line without its CRLF. False: there is none.
bool TakeLine(std::string_view& text, std::string_view& line) {
  const size_t end = text.find("\r\n");
  if (end == std::string_view::npos) return false;
  line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return true;
}

absl::StatusOr<std::string> Unchunked(std::string_view text, Trailers& trailers) {
  std::string bytes;
  while (true) {
    std::string_view line;
    if (!TakeLine(text, line)) return IncompleteChunks();
    const std::string_view digits = line.substr(0, line.find(';'));
    size_t size = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return IncompleteChunks();
    if (size == 0) break;
    if (text.size() < 2 || size > text.size() - 2 || text.substr(size, 2) != "\r\n")
      return IncompleteChunks();
    bytes.append(text.substr(0, size));
    text.remove_prefix(size + 2);
  }
  std::string_view line;
  while (TakeLine(text, line) && !line.empty()) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return IncompleteChunks();
    trailers[Lowered(line.substr(0, colon))] = std::string(WithoutBlanks(line.substr(colon + 1)));
  }
  return bytes;
}

absl::Status CheckChecksum(const std::string& name, const std::string& value, Payload& payload) {
  const std::string_view kind = std::string_view(name).substr(kChecksumHeader.size());
  std::string digest;
  if (kind == "algorithm" || kind == "type" || kind == "mode") return absl::OkStatus();
  if (kind == "crc32") {
    digest = Crc32Bytes(payload.bytes());
  } else if (kind == "crc32c") {
    digest = Crc32cBytes(payload.bytes());
  } else if (kind == "crc64nvme") {
    digest = Crc64NvmeBytes(payload.bytes());
  } else if (kind == "sha256") {
    digest = Sha256Bytes(payload.bytes());
  } else if (kind == "sha1") {
    digest = Sha1Bytes(payload.bytes());
  } else {
    return AwsError("NotImplemented",
                    "The checksum " + std::string(kind) +
                        " is not offered here; use CRC32, CRC32C, CRC64NVME, SHA1 or SHA256.");
  }
  if (absl::Base64Escape(digest) != value)
    return AwsError("BadDigest",
                    "The " + std::string(kind) + " you specified did not match the calculated checksum.");
  payload.checksum = name + ": " + value;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Payload> TakePayload(const HttpRequest& request) {
  Payload payload;
  payload.request = &request;
  Trailers checksums;
  const std::string_view signed_as = request.header("x-amz-content-sha256");
  if (signed_as.starts_with("STREAMING-AWS4-")) {
    return AwsError("NotImplemented",
                    "Bodies whose chunks are signed one by one are not offered here; use an SDK that sends "
                    "STREAMING-UNSIGNED-PAYLOAD-TRAILER or the digest of the body.");
  }
  if (signed_as.starts_with("STREAMING-") ||
      Lowered(request.header("content-encoding")).starts_with("aws-chunked")) {
    absl::StatusOr<std::string> bytes = Unchunked(request.body, checksums);
    if (!bytes.ok()) return bytes.status();
    payload.decoded = *std::move(bytes);
    const std::string_view decoded = request.header("x-amz-decoded-content-length");
    if (!decoded.empty() && decoded != std::to_string(payload.decoded->size())) return IncompleteChunks();
  }
  for (const auto& [name, value] : request.headers) {
    if (name.starts_with(kChecksumHeader)) checksums.emplace(name, value);
  }
  for (const auto& [name, value] : checksums) {
    if (!name.starts_with(kChecksumHeader)) continue;
    if (absl::Status status = CheckChecksum(name, value, payload); !status.ok()) return status;
  }
  const std::string md5 = Md5Bytes(payload.bytes());
  const std::string_view declared = request.header("content-md5");
  if (!declared.empty() && absl::Base64Escape(md5) != declared)
    return AwsError("BadDigest", "The Content-MD5 you specified did not match what we received.");
  payload.md5 = absl::BytesToHexString(md5);
  return payload;
}

}  // namespace winnow
