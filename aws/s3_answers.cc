#include "aws/s3_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>
#include <utility>

#include "absl/status/status.h"

namespace winnow {
namespace {

// The text of the first element of that name; "": there is none.
std::string_view ElementText(std::string_view xml, std::string_view name) {
  const std::string open = fmt::format("<{}>", name);
  const size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return "";
  xml.remove_prefix(begin + open.size());
  const size_t end = xml.find(fmt::format("</{}>", name));
  return end == std::string_view::npos ? "" : xml.substr(0, end);
}

// What a form calls decoding: "%41" and '+'.
std::string FormDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = -1;
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16);
      if (error != std::errc() || end != text.data() + i + 3) code = -1;
    }
    decoded += code >= 0 ? static_cast<char>(code) : text[i] == '+' ? ' ' : text[i];
    if (code >= 0) i += 2;
  }
  return decoded;
}

std::string WithoutEntities(std::string_view text) {
  std::string plain(text);
  for (const auto& [entity, character] :
       {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&quot;", "\""), std::pair("&apos;", "'"),
        std::pair("&amp;", "&")}) {
    for (size_t at = plain.find(entity); at != std::string::npos; at = plain.find(entity, at + 1))
      plain.replace(at, std::string_view(entity).size(), character);
  }
  return plain;
}

}  // namespace

absl::StatusOr<ListedObjects> ParseListing(std::string_view xml) {
  const size_t root = xml.find("<ListBucketResult");
  if (root == std::string_view::npos || xml.find("</ListBucketResult>") == std::string_view::npos)
    return absl::InvalidArgumentError(
        "the server's answer is no listing of a bucket; expected S3's ListObjectsV2");
  const bool encoded = ElementText(xml, "EncodingType") == "url";  // some services do not encode
  ListedObjects listed;
  std::string_view rest = xml.substr(root);
  for (size_t at = rest.find("<Contents>"); at != std::string_view::npos; at = rest.find("<Contents>")) {
    rest.remove_prefix(at);
    const size_t end = rest.find("</Contents>");
    if (end == std::string_view::npos)
      return absl::InvalidArgumentError("the server's listing of the bucket is cut off");
    const std::string_view object = rest.substr(0, end);
    const std::string_view size = ElementText(object, "Size");
    ListedObjects::Object& added = listed.objects.emplace_back();
    added.key = WithoutEntities(ElementText(object, "Key"));
    if (encoded) added.key = FormDecoded(added.key);
    const auto [last, error] = std::from_chars(size.data(), size.data() + size.size(), added.size);
    if (size.empty() || error != std::errc() || last != size.data() + size.size()) added.size = -1;
    rest.remove_prefix(end);
  }
  if (ElementText(xml, "IsTruncated") == "true")
    listed.next = WithoutEntities(ElementText(xml, "NextContinuationToken"));
  return listed;
}

std::string S3ErrorCode(std::string_view body) {
  const std::string_view code = ElementText(body, "Code");
  const bool plain = code.size() <= 64 && std::all_of(code.begin(), code.end(), [](unsigned char c) {
                       return c < 0x80 && std::isalnum(c) != 0;
                     });
  return plain ? std::string(code) : "";
}

bool IsPassingStatus(int status) { return status == 408 || status == 425 || status == 429 || status >= 500; }

}  // namespace winnow
