#include "aws/requests.h"

#include <fmt/format.h>

#include <cctype>

namespace winnow {

void SignForS3(CURL* curl, const AwsCredentials& credentials, const std::string& region,
               const std::string& sha256, const std::function<void(const std::string&)>& add) {
  const std::string provider = fmt::format("aws:amz:{}:s3", region);
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, provider.c_str());
  curl_easy_setopt(curl, CURLOPT_USERNAME, credentials.id.c_str());
  curl_easy_setopt(curl, CURLOPT_PASSWORD, credentials.secret.c_str());
  add("x-amz-content-sha256: " + sha256);
  if (!credentials.token.empty()) add("x-amz-security-token: " + credentials.token);
}

std::string AwsEncoded(const std::string& text, bool keep_slash) {
  std::string encoded;
  for (const unsigned char c : text) {
    const bool plain = (c < 0x80 && std::isalnum(c) != 0) || c == '-' || c == '_' || c == '.' || c == '~' ||
                       (keep_slash && c == '/');
    encoded += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return encoded;
}

std::string ObjectUrl(const std::string& endpoint, const std::string& region, const std::string& bucket,
                      const std::string& key) {
  const std::string path = AwsEncoded(key, true);
  if (endpoint.empty()) {
    const std::string host = fmt::format("s3.{}.amazonaws.com", region);
    // A certificate's "*" stands for one part of a name.
    return bucket.find('.') == std::string::npos ? fmt::format("https://{}.{}/{}", bucket, host, path)
                                                 : fmt::format("https://{}/{}/{}", host, bucket, path);
  }
  std::string url = endpoint;
  const size_t at = url.find("{bucket}");
  if (at == std::string::npos) return fmt::format("{}/{}/{}", url, bucket, path);
  url.replace(at, std::string("{bucket}").size(), bucket);
  return fmt::format("{}/{}", url, path);
}

}  // namespace winnow
