#pragma once

#include <curl/curl.h>

#include <functional>
#include <string>

namespace winnow {

// What signs requests to an S3-compatible service.
struct AwsCredentials {
  std::string id;  // "": none were found, requests are not signed
  std::string secret;
  std::string token;   // of a session; "": none
  std::string origin;  // where they were found, or where they were looked for: ends a sentence
};

// The SHA-256 of no bytes, in hexadecimal digits.
inline constexpr char kEmptySha256[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Has libcurl sign the request to S3 with Signature Version 4, and passes the headers that it needs to `add`.
// `sha256`: of the body. REQUIRES, because libcurl 7.88 signs path, query and headers as they are: both are
// encoded by AwsEncoded, the query is sorted by name, and no header's value is empty.
void SignForS3(CURL* curl, const AwsCredentials& credentials, const std::string& region,
               const std::string& sha256, const std::function<void(const std::string&)>& add);

// Percent-encodes all but letters, digits and "-_.~", as Signature Version 4 requires; '/' too unless
// `keep_slash`.
std::string AwsEncoded(const std::string& text, bool keep_slash);

// The URL of an object, or of the bucket for an empty key. `endpoint`: http(s)://HOST[:PORT], perhaps with
// "{bucket}"; "": AWS in that region.
std::string ObjectUrl(const std::string& endpoint, const std::string& region, const std::string& bucket,
                      const std::string& key);

}  // namespace winnow
