#include "server/sagemaker/wire/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"
#include "server/sagemaker/wire/digests.h"

namespace winnow {
namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";
constexpr char kUnsigned[] = "UNSIGNED-PAYLOAD";
constexpr int64_t kMostSkew = 15 * 60;
constexpr int64_t kMostExpires = 7 * 24 * 3600;

// The parameters of a signature of version 4, as the request states them.
struct SignatureClaim {
  std::string key_id, day, region, service;
  std::vector<std::string> headers;  // signed ones, in order
  std::string signature;
  std::string time;  // "20150830T123600Z"
  int64_t expires = 0;
  bool in_query = false;
};

// The code of an error, as the service names it.
absl::Status Refused(std::string_view service, std::string_view s3_code, std::string_view json_code,
                     std::string_view message) {
  return AwsError(service == "s3" ? s3_code : json_code, message);
}

absl::Status Incomplete(std::string_view service, std::string_view message) {
  return Refused(service, "AccessDenied", "IncompleteSignatureException", message);
}

bool ReadScope(std::string_view credential, SignatureClaim& claim) {
  const std::vector<std::string> parts = SplitAt(credential, '/');
  if (parts.size() != 5 || parts[4] != "aws4_request" || parts[0].empty()) return false;
  claim.key_id = parts[0];
  claim.day = parts[1];
  claim.region = parts[2];
  claim.service = parts[3];
  return true;
}

// False: the request is not signed so. A malformed claim has no key id.
bool ReadSignatureClaim(const HttpRequest& request, const AwsTarget& target, SignatureClaim& claim) {
  if (target.value("X-Amz-Algorithm") == kAlgorithm) {
    claim.in_query = true;
    ReadScope(target.value("X-Amz-Credential"), claim);
    claim.headers = SplitAt(target.value("X-Amz-SignedHeaders"), ';');
    claim.signature = target.value("X-Amz-Signature");
    claim.time = target.value("X-Amz-Date");
    const std::string expires = target.value("X-Amz-Expires");
    std::from_chars(expires.data(), expires.data() + expires.size(), claim.expires);
    return true;
  }
  std::string_view text = request.header("authorization");
  if (!ConsumeFront(text, kAlgorithm)) return false;
  for (const std::string& piece : SplitAt(text, ',')) {
    std::string_view part = WithoutBlanks(piece);
    if (ConsumeFront(part, "Credential=")) ReadScope(part, claim);
    if (ConsumeFront(part, "SignedHeaders=")) claim.headers = SplitAt(part, ';');
    if (ConsumeFront(part, "Signature=")) claim.signature = std::string(part);
  }
  claim.time = std::string(request.header("x-amz-date"));
  return true;
}

std::string Collapsed(std::string_view text) {
  std::string collapsed;
  for (const char c : WithoutBlanks(text)) {
    if (c != ' ' || collapsed.empty() || collapsed.back() != ' ') collapsed += c;
  }
  return collapsed;
}

std::string CanonicalQuery(const AwsTarget& target, bool in_query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [name, value] : target.query) {
    if (in_query && name == "X-Amz-Signature") continue;
    pairs.emplace_back(PercentEncoded(name, false), PercentEncoded(value, false));
  }
  std::sort(pairs.begin(), pairs.end());
  return absl::StrJoin(pairs, "&", absl::PairFormatter("="));
}

std::string SigningKey(const std::string& secret, const SignatureClaim& claim) {
  std::string key = HmacSha256("AWS4" + secret, claim.day);
  for (const std::string& part : {claim.region, claim.service, std::string("aws4_request")})
    key = HmacSha256(key, part);
  return key;
}

std::string SignatureOf(const HttpRequest& request, const AwsTarget& target, const SignatureClaim& claim,
                        const std::string& payload, const std::string& secret) {
  // S3 signs the path as it is sent; the other services sign its encoded form once more.
  const std::string path = claim.service == "s3" ? PercentEncoded(PercentDecoded(target.path), true)
                                                 : PercentEncoded(target.path, true);
  std::string canonical =
      fmt::format("{}\n{}\n{}\n", request.method, path, CanonicalQuery(target, claim.in_query));
  for (const std::string& name : claim.headers)
    canonical += name + ":" + Collapsed(request.header(name)) + "\n";
  canonical += "\n" + absl::StrJoin(claim.headers, ";") + "\n" + payload;
  const std::string text =
      fmt::format("{}\n{}\n{}/{}/{}/aws4_request\n{}", kAlgorithm, claim.time, claim.day, claim.region,
                  claim.service, absl::BytesToHexString(Sha256Bytes(canonical)));
  return absl::BytesToHexString(HmacSha256(SigningKey(secret, claim), text));
}

// Every header that says what is asked for has to be signed: who was given a URL may not add another object
// to copy from. The digest of the body is a part of what is signed in any case.
bool SignsEnough(const HttpRequest& request, const SignatureClaim& claim) {
  const auto is_signed = [&](std::string_view name) {
    return std::find(claim.headers.begin(), claim.headers.end(), name) != claim.headers.end();
  };
  if (!is_signed("host")) return false;
  return std::all_of(request.headers.begin(), request.headers.end(), [&](const auto& header) {
    return !header.first.starts_with("x-amz-") || is_signed(header.first) ||
           (claim.in_query && header.first == "x-amz-content-sha256");
  });
}

absl::Status CheckTime(const SignatureClaim& claim, int64_t now) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime("%E4Y%m%dT%H%M%SZ", claim.time, &time, &error) || !claim.time.starts_with(claim.day))
    return Incomplete(claim.service,
                      "The date of the request must be YYYYMMDDTHHMMSSZ, on the day of its scope.");
  const int64_t signed_at = absl::ToUnixSeconds(time);
  if (claim.in_query) {
    if (claim.expires < 1 || claim.expires > kMostExpires)
      return AwsError("AuthorizationQueryParametersError", "X-Amz-Expires must be from 1 to 604800 seconds.");
    if (signed_at - kMostSkew > now || signed_at + claim.expires < now)
      return AwsError("AccessDenied", "Request has expired");
    return absl::OkStatus();
  }
  if (signed_at - kMostSkew <= now && now <= signed_at + kMostSkew) return absl::OkStatus();
  const auto text = [](int64_t seconds) {
    return absl::FormatTime("%Y%m%dT%H%M%SZ", absl::FromUnixSeconds(seconds), absl::UTCTimeZone());
  };
  if (claim.service == "s3")
    return AwsError("RequestTimeTooSkewed",
                    "The difference between the request time and the current time is too large.");
  return AwsError("InvalidSignatureException",
                  signed_at < now
                      ? fmt::format("Signature expired: {} is now earlier than {} ({} - 15 min.)", claim.time,
                                    text(now - kMostSkew), text(now))
                      : fmt::format("Signature not yet current: {} is still later than {} ({} + 15 min.)",
                                    claim.time, text(now + kMostSkew), text(now)));
}

absl::Status UnknownKey(std::string_view service) {
  return Refused(service, "InvalidAccessKeyId", "UnrecognizedClientException",
                 service == "s3" ? "The AWS Access Key Id you provided does not exist in our records."
                                 : "The security token included in the request is invalid.");
}

absl::Status WrongSignature(std::string_view service) {
  return Refused(
      service, "SignatureDoesNotMatch", "InvalidSignatureException",
      "The request signature we calculated does not match the signature you provided. Check your AWS "
      "Secret Access Key and signing method.");
}

// The digest of the body that was signed, once it is known that the body has it.
absl::StatusOr<std::string> PayloadOf(const HttpRequest& request, const SignatureClaim& claim,
                                      SignedPart part) {
  const std::string_view declared = request.header("x-amz-content-sha256");
  if (claim.service == "s3") {
    if (claim.in_query) return declared.empty() ? std::string(kUnsigned) : std::string(declared);
    if (declared.empty())
      return AwsError("InvalidRequest", "Missing required header for this request: x-amz-content-sha256");
    if (declared == kUnsigned || declared.starts_with("STREAMING-")) return std::string(declared);
    if (part == SignedPart::kHead) return std::string(declared);
    if (absl::BytesToHexString(Sha256Bytes(request.body)) != declared)
      return AwsError("XAmzContentSHA256Mismatch",
                      "The provided 'x-amz-content-sha256' header does not match what was computed.");
    return std::string(declared);
  }
  if (part == SignedPart::kHead && !declared.empty()) return std::string(declared);
  return absl::BytesToHexString(Sha256Bytes(request.body));
}

// Signatures of version 2, which current SDKs still put into the URLs of S3 that they presign.
absl::StatusOr<Signer> CheckVersion2(const HttpRequest& request, const AwsTarget& target,
                                     const SecretOf& secret_of, int64_t now) {
  const std::optional<std::string> secret = secret_of(target.value("AWSAccessKeyId"));
  if (!secret) return UnknownKey("s3");
  int64_t expires = 0;
  const std::string until = target.value("Expires");
  std::from_chars(until.data(), until.data() + until.size(), expires);
  if (expires < now) return AwsError("AccessDenied", "Request has expired");
  std::string text = fmt::format("{}\n{}\n{}\n{}\n", request.method, request.header("content-md5"),
                                 request.header("content-type"), until);
  for (const auto& [name, value] : request.headers) {
    if (name.starts_with("x-amz-")) text += name + ":" + Collapsed(value) + "\n";
  }
  text += target.path;
  static constexpr std::string_view kResources[] = {"partNumber",
                                                    "response-cache-control",
                                                    "response-content-disposition",
                                                    "response-content-encoding",
                                                    "response-content-language",
                                                    "response-content-type",
                                                    "response-expires",
                                                    "uploadId",
                                                    "uploads"};
  std::vector<std::string> resources;
  for (const auto& [name, value] : target.query) {
    if (std::find(std::begin(kResources), std::end(kResources), name) != std::end(kResources))
      resources.push_back(value.empty() ? name : name + "=" + value);
  }
  std::sort(resources.begin(), resources.end());
  if (!resources.empty()) text += "?" + absl::StrJoin(resources, "&");
  if (!SameBytes(absl::Base64Escape(HmacSha1(*secret, text)), target.value("Signature")))
    return WrongSignature("s3");
  return Signer{target.value("AWSAccessKeyId"), "us-east-1", "s3"};
}

bool HasVersion2(const AwsTarget& target) { return target.has("AWSAccessKeyId") && target.has("Signature"); }

}  // namespace

std::string ServiceOf(const HttpRequest& request) {
  const AwsTarget target = ParseAwsTarget(request.target);
  SignatureClaim claim;
  if (ReadSignatureClaim(request, target, claim)) return claim.service;
  return HasVersion2(target) ? "s3" : "";
}

absl::StatusOr<Signer> CheckSignature(const HttpRequest& request, const SecretOf& secret_of,
                                      int64_t now_seconds, SignedPart part) {
  const AwsTarget target = ParseAwsTarget(request.target);
  if (HasVersion2(target)) return CheckVersion2(request, target, secret_of, now_seconds);
  SignatureClaim claim;
  if (!ReadSignatureClaim(request, target, claim)) {
    const bool json = !request.header("x-amz-target").empty();
    return AwsError(json ? "MissingAuthenticationTokenException" : "AccessDenied",
                    "Missing Authentication Token: the request is not signed.");
  }
  if (claim.key_id.empty() || claim.signature.empty() || claim.headers.empty() || claim.time.empty()) {
    return Incomplete(claim.service,
                      "The signature needs Credential=KEY/DAY/REGION/SERVICE/aws4_request, SignedHeaders, "
                      "Signature and the header or parameter X-Amz-Date.");
  }
  if (!SignsEnough(request, claim))
    return Incomplete(claim.service, "The headers host and x-amz-* of the request must be signed.");
  const std::optional<std::string> secret = secret_of(claim.key_id);
  if (!secret) return UnknownKey(claim.service);
  if (absl::Status status = CheckTime(claim, now_seconds); !status.ok()) return status;
  absl::StatusOr<std::string> payload = PayloadOf(request, claim, part);
  if (!payload.ok()) return payload.status();
  if (!SameBytes(SignatureOf(request, target, claim, *payload, *secret), claim.signature))
    return WrongSignature(claim.service);
  return Signer{claim.key_id, claim.region, claim.service};
}

}  // namespace winnow
