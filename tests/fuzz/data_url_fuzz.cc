// A URL of a job file, or of a service: what is accepted has all its parts, and no name leads out of a
// folder.

#include "base/data_url.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<DataUrl> url = ParseDataUrl(text);
  static_cast<void>(CheckEndpoint(text));
  fuzz::Require(ShownUrl(text).size() <= text.size() + 4, "a shown URL is no longer");
  if (!url.ok()) return 0;
  fuzz::Require(HasScheme(text), "a URL has a scheme");
  fuzz::Require(!url->host.empty() && url->host.find('/') == std::string::npos, "it has a host");
  const std::string begin = url->is_s3()                            ? "s3://"
                            : url->scheme == DataUrl::Scheme::kHttp ? "http://"
                                                                    : "https://";
  const std::string again = begin + url->host + (url->is_s3() ? "/" : "") + url->path;
  fuzz::Require(again == text || again == std::string(text) + "/", "its parts are the whole");
  if (url->is_prefix()) return 0;
  const std::string name = FileNameOf(*url);
  fuzz::Require(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
                    name.find('\0') == std::string::npos && name.size() <= 255,
                "its file has a name");
  return 0;
}
