#include "base/data_url.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "absl/status/status.h"

namespace winnow {
namespace {

constexpr size_t kMostUrlBytes = 8192;
constexpr size_t kMostNameBytes = 200;  // below that of file systems, with room for a suffix

bool IsLetterOrDigit(unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; }

bool AllOf(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [others](unsigned char c) {
    return IsLetterOrDigit(c) || others.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    decoded += low >= 0 ? static_cast<char>(high * 16 + low) : text[i];
    if (low >= 0) i += 2;
  }
  return decoded;
}

absl::Status CheckAuthority(std::string_view authority) {
  if (authority.find('@') != std::string_view::npos)
    return absl::InvalidArgumentError(
        "has a user or a password in it; expected none: everybody who may see the job would see them");
  std::string_view host = authority;
  const size_t bracket = host.find(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    const std::string_view port = host.substr(colon + 1);
    host = host.substr(0, colon);
    const bool number = !port.empty() && port.size() <= 5 &&
                        std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!number || std::stoi(std::string(port)) < 1 || std::stoi(std::string(port)) > 65535)
      return absl::InvalidArgumentError("has no valid port; expected a number from 1 to 65535 after ':'");
  }
  const bool address = host.starts_with('[') && host.ends_with(']') && host.size() > 2 &&
                       AllOf(host.substr(1, host.size() - 2), ":.");
  if (host.empty() || !(address || AllOf(host, "-._")))
    return absl::InvalidArgumentError("has no valid host; expected a host's name or address after '://'");
  return absl::OkStatus();
}

}  // namespace

bool HasScheme(std::string_view text) {
  const size_t end = text.find("://");
  return end != std::string_view::npos && end > 0 && AllOf(text.substr(0, end), "+-.");
}

absl::StatusOr<DataUrl> ParseDataUrl(std::string_view text) {
  if (text.size() > kMostUrlBytes)
    return absl::InvalidArgumentError("is longer than 8192 bytes; expected a shorter URL");
  DataUrl url;
  if (text.starts_with("http://")) {
    url.scheme = DataUrl::Scheme::kHttp;
  } else if (text.starts_with("https://")) {
    url.scheme = DataUrl::Scheme::kHttps;
  } else if (text.starts_with("s3://")) {
    url.scheme = DataUrl::Scheme::kS3;
  } else {
    return absl::InvalidArgumentError("has another scheme; expected http://, https:// or s3://");
  }
  const std::string_view rest = text.substr(text.find("://") + 3);
  const size_t slash = rest.find('/');
  url.host = std::string(rest.substr(0, slash));
  if (url.is_s3()) {
    url.path = slash == std::string_view::npos ? "" : std::string(rest.substr(slash + 1));
    if (url.host.size() < 3 || url.host.size() > 255 || !AllOf(url.host, "-._"))
      return absl::InvalidArgumentError(
          "has no valid bucket; expected s3://BUCKET/KEY with 3 to 255 letters, digits, '-', '.' and '_'");
    if (url.path.find('\0') != std::string::npos || url.path.size() > 1024)
      return absl::InvalidArgumentError("has no valid key; expected at most 1024 bytes and no NUL");
    return url;
  }
  if (absl::Status status = CheckAuthority(url.host.substr(0, url.host.find_first_of("?#"))); !status.ok())
    return status;
  if (slash == std::string_view::npos || url.host.find_first_of("?#") != std::string::npos)
    return absl::InvalidArgumentError("names no file; expected http(s)://HOST/PATH");
  url.path = std::string(rest.substr(slash));
  const bool printable =
      std::all_of(url.path.begin(), url.path.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (!printable)
    return absl::InvalidArgumentError(
        "has blanks or characters that are not ASCII; expected them percent-encoded");
  if (url.path.find('#') != std::string::npos)
    return absl::InvalidArgumentError("has a fragment ('#'); expected none");
  if (url.path.substr(0, url.path.find('?')).ends_with('/'))
    return absl::InvalidArgumentError(
        "ends in '/'; expected one file, because folders cannot be listed over HTTP");
  return url;
}

absl::Status CheckEndpoint(std::string_view text) {
  const bool secure = text.starts_with("https://");
  if (!secure && !text.starts_with("http://"))
    return absl::InvalidArgumentError("has another scheme; expected http:// or https://");
  std::string_view host = text.substr(text.find("://") + 3);
  if (host.ends_with('/')) host.remove_suffix(1);
  if (host.find_first_of("/?#") != std::string_view::npos)
    return absl::InvalidArgumentError("has a path; expected http(s)://HOST[:PORT]");
  std::string plain(host);
  if (const size_t at = plain.find("{bucket}"); at != std::string::npos) plain.replace(at, 8, "bucket");
  return CheckAuthority(plain);
}

std::string ShownUrl(std::string_view text) {
  if (text.starts_with("s3://")) return std::string(text);
  const size_t query = text.find('?');
  return std::string(text.substr(0, query)) + (query == std::string_view::npos ? "" : "?…");
}

std::string FileNameOf(const DataUrl& url) {
  std::string path = url.is_s3() ? url.path : url.path.substr(0, url.path.find('?'));
  path = path.substr(path.rfind('/') + 1);  // all of it without a '/'
  std::string name = url.is_s3() ? path : Decoded(path);
  const bool usable = !name.empty() && name != "." && name != ".." && name.size() <= kMostNameBytes &&
                      name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
  return usable ? name : "data";
}

}  // namespace winnow
